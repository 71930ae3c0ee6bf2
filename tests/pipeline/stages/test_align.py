from pipeline.config import Config
from pipeline.stages.align import aligned_method


def test_the_policy_is_aligned_with_the_chosen_method_or_the_last():
    config = {"corpus": "c", "decompose": {"methods": ("uniform", "rrd")}}
    assert aligned_method(Config.model_validate(config)) == "rrd"
    assert aligned_method(Config.model_validate({**config, "align": {"reward_method": "uniform"}})) == "uniform"
