from apportion.pipeline.config import Config, load_config, shown_config
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.stages.align import ALIGN, aligned_method


def test_the_policy_is_aligned_with_the_chosen_method_or_the_last():
    config = {"corpus": "c", "decompose": {"method": "rrd", "compare": ("uniform",)}}
    assert aligned_method(Config.model_validate(config)) == "rrd"
    assert aligned_method(Config.model_validate({**config, "align": {"reward_method": "uniform"}})) == "uniform"


def test_a_method_s_name_means_its_distilled_reward_model_or_the_only_one():
    def aligned(objective, name=None):
        config = {
            "corpus": "c",
            "decompose": {"method": "rrd", "compare": ("uniform",)},
            "train_reward": {"objective": objective},
        }
        return aligned_method(Config.model_validate({**config, "align": {"reward_method": name}}))

    assert aligned("both") == aligned("both", "rrd") == "rrd"
    assert aligned("both", "rrd-direct") == aligned("direct", "rrd-direct") == "rrd-direct"
    assert aligned("direct") == aligned("direct", "rrd") == "rrd-direct"
    assert aligned("direct", "uniform") == "uniform"


def test_another_runs_reward_model_is_known_by_what_is_in_it_and_not_by_its_place(tmp_path):
    def settings(folder, text):
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(text)
        return ALIGN.settings(Config.model_validate({"corpus": "c", "align": {"reward_model": folder}}), Unit())

    here, there = settings(tmp_path / "a", "{}"), settings(tmp_path / "b", "{}")
    assert here == there != settings(tmp_path / "b", "[]")
    assert "reward_model_files" not in ALIGN.settings(Config.model_validate({"corpus": "c"}), Unit())
    assert "reward_model" not in here["align"]


def test_a_reward_model_is_found_from_the_configuration_and_shown_by_its_name(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('corpus = "c"\n[align]\nreward_model = "../other/llm-seed0"\n')
    config = load_config(path)
    assert config.align.reward_model == tmp_path.parent / "other" / "llm-seed0"
    assert shown_config(config)["align"]["reward_model"] == "llm-seed0"
    changed = config.with_align(tmp_path, reward_model="near")
    assert changed.align.reward_model == tmp_path / "near"
