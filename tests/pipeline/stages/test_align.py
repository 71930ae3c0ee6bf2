from pipeline.config import Config
from pipeline.stages.align import aligned_method


def test_the_policy_is_aligned_with_the_chosen_method_or_the_last():
    config = {"corpus": "c", "decompose": {"methods": ("uniform", "rrd")}}
    assert aligned_method(Config.model_validate(config)) == "rrd"
    assert aligned_method(Config.model_validate({**config, "align": {"reward_method": "uniform"}})) == "uniform"


def test_a_method_s_name_means_its_distilled_reward_model_or_the_only_one():
    def aligned(objective, name=None):
        config = {"corpus": "c", "decompose": {"methods": ("uniform", "rrd")}, "train_reward": {"objective": objective}}
        return aligned_method(Config.model_validate({**config, "align": {"reward_method": name}}))

    assert aligned("both") == aligned("both", "rrd") == "rrd"
    assert aligned("both", "rrd-direct") == aligned("direct", "rrd-direct") == "rrd-direct"
    assert aligned("direct") == aligned("direct", "rrd") == "rrd-direct"
    assert aligned("direct", "uniform") == "uniform"
