from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.stages.decompose import FIT
from apportion.pipeline.stages.reward_model import EMBED, TRAIN_REWARD
from tests.pipeline.stages.planned import config, plan


def test_a_trained_backbone_needs_no_embeddings():
    assert plan(("rrd",), freeze_backbone=False).units["embed"] == ()


def test_a_direct_reward_model_reads_no_rewards():
    planned = plan(("rrd", "rrd-va", "uniform"), seeds=(0,), objective="both")
    names = [unit.method for unit in planned.units["train-reward"]]
    assert names == ["rrd", "rrd-direct", "rrd-va", "rrd-va-direct", "uniform"]
    needed = {unit.method: set(planned.needed("train-reward", unit)) for unit in planned.units["train-reward"]}
    assert needed["rrd"] == needed["rrd-va"] == needed["uniform"] == {"split", "embed", "rewards"}
    assert needed["rrd-direct"] == {"split", "embed"}
    assert needed["rrd-va-direct"] == {"split", "embed", "features"}


def test_one_model_for_all_methods_is_taught_by_reactions_and_reads_no_rewards():
    planned = plan(("uniform", "mix"), seeds=(0,), teacher="predicted-reaction")
    (unit,) = planned.units["train-reward"]
    assert unit.method == "predicted-reaction"
    assert set(planned.needed("train-reward", unit)) == {"split", "embed", "react", "features"}
    method = plan(("predicted-reaction",), seeds=(0,))
    assert set(method.needed("fit", Unit(method="predicted-reaction", seed=0))) == {
        "split",
        "embed",
        "react",
        "features",
    }


def test_the_rewards_taught_a_model_are_those_of_its_method_alone():
    planned = plan(("rrd", "uniform"), seeds=(0,), objective="both")
    (taught,) = planned.needed("train-reward", Unit(method="rrd", seed=0))["rewards"]
    assert taught == Unit(method="rrd", seed=0)


def test_which_reward_models_there_are_makes_no_other_work_stale():
    before, after = config(("rrd", "uniform")), config(("rrd", "uniform"), objective="both")
    unit = Unit(method="rrd", seed=0)
    for stage in (EMBED, FIT, TRAIN_REWARD):
        assert stage.settings(before, unit) == stage.settings(after, unit)
    direct = TRAIN_REWARD.settings(after, Unit(method="rrd-direct", seed=0))
    assert direct == {**FIT.settings(before, unit), "target": "relative"}


def test_a_direct_reward_model_depends_on_its_method_s_settings_and_the_target():
    def key(**decompose):
        return TRAIN_REWARD.settings(
            config(("rrd",), objective="direct", **decompose), Unit(method="rrd-direct", seed=0)
        )

    assert key() == key(rudder={"auxiliary": 1.0}) == key(constraint="soft")
    assert key() != key(rrd={"k": 4}) and key() != key(target="score")
