import pyarrow as pa

from apportion.corpus.schema import SPLITS
from apportion.corpus.session import Session
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.trained_network import TrainingData
from apportion.decompose.reactions.extract import read_session
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.stages.decompose import FIT
from apportion.pipeline.stages.reward_model import EMBED, TRAIN_REWARD, with_unscored
from apportion.reward_model.network.embed import embed_session
from tests.pipeline.stages.planned import config, plan, session


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


def test_replies_in_sessions_that_nobody_scored_teach_where_they_are_the_policy_s():
    how = config(("predicted-reaction",))
    sessions = (session("a"), session("b", rated=False), session("c", rated=False), Session("d", ()))
    names = {"a": "train", "b": "policy", "c": "test", "d": "policy"}
    splits = pa.Table.from_pylist([{"session_id": n, "split": of} for n, of in names.items()], schema=SPLITS.arrow)
    read = embed_session(sessions[0], "mood", how.train_reward).embeddings
    reactions = read_session(sessions[0], "mood", how.decompose.reaction)
    given = TrainingData(SplitEpisodes(sessions[0].episodes("mood"), splits), read, reactions=reactions)
    data, unscored = with_unscored(given, sessions, how)
    assert unscored == {"b"}
    assert [(e.session_id, e.rating.target, e.is_rated) for e in data.episodes.all] == [
        ("a", "bot", True),
        ("b", "bot", False),
    ]
    for table in (data.embeddings, data.reactions):
        assert table is not None and table["session_id"].to_pylist() == ["a", "b"]
    assert with_unscored(given, sessions[:1], how) == (given, frozenset())


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
