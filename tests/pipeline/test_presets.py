"""A preset for the whole configuration and for single sections, what stands in for it, and its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.foundation.settings import items
from apportion.pipeline.config import Config, load_config, sections_with, shown_config
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.preflight import check
from apportion.pipeline.presets import preset_notes, table
from tests.behaviour.small import write_small_corpus
from tests.pipeline.stages.planned import BY_NAME
from tests.reward_model.tiny import save_tiny

DEMO = Path(__file__).resolve().parents[2] / "demo" / "demo.toml"


def made(**values) -> Config:
    return Config.model_validate({"corpus": "c", **values})


def test_the_whole_chain_by_one_key():
    config = made(preset="paper")
    assert (config.decompose.llm.prompt, config.decompose.target, config.decompose.constraint) == (
        "paper", "score", "soft",
    )  # fmt: skip
    assert (config.train_reward.backbone, config.train_reward.lr) == ("facebook/bart-large", 5e-6)
    assert (config.align.policy, config.align.batch_size) == ("meta-llama/Llama-2-7b-chat-hf", 24)
    assert config.split.shares == {"train": 0.36, "validation": 0.0, "test": 0.04, "policy": 0.6}
    for section, kind in sections_with("paper").items():
        settings = getattr(config, section)
        assert settings == kind(preset="paper") and not list(settings.departures())
    assert sections_with("paper").keys() == {"split", "features", "decompose", "train_reward", "evaluate", "align"}


@pytest.mark.parametrize("section", ["split", "features", "decompose", "train_reward", "evaluate", "align"])
def test_one_section_alone(section):
    config, plain = made(**{section: {"preset": "paper"}}), made()
    assert getattr(config, section) == getattr(made(preset="paper"), section)
    others = [name for name in Config.model_fields if name != section]
    assert all(getattr(config, name) == getattr(plain, name) for name in others)


def test_own_keys_go_before_the_preset_s_and_a_section_s_preset_before_the_configuration_s():
    values = {
        "preset": "paper",
        "decompose": {"target": "relative", "llm": {"model": "m"}},
        "align": {"preset": "paper-kl", "steps": 3},
        "train_reward": {"backbone": "minilm"},
    }
    config = Config.model_validate({"corpus": "c", **values})
    llm = config.decompose.llm
    assert (config.decompose.target, llm.model, llm.prompt) == ("relative", "m", "paper")
    assert (config.align.gamma, config.align.steps, config.align.batch_size) == (1.0, 3, 24)
    assert config.train_reward.lr == made().train_reward.lr
    # What commands change of it stays beside the preset.
    assert config.with_align(Path(), steps=5).align == config.align.model_copy(update={"steps": 5})
    stand_in = {**values, "align": {**values["align"], "policy": "tiny"}}
    assert config.with_align(Path(), policy="tiny").align == made(**stand_in).align
    assert config.with_algorithm("grpo").align == config.align.model_copy(update={"algorithm": "grpo"})
    # Some sections have no preset of that name, so that a whole configuration has none.
    with pytest.raises(ValueError, match="preset"):
        made(preset="paper-kl")


def test_a_preset_that_is_asked_for_goes_before_the_file_s(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('corpus = "c"\n[align]\nsteps = 7\n')
    assert load_config(path) == load_config(path).model_copy()
    config = load_config(path, "paper")
    assert (config.preset, config.align.steps, config.align.batch_size) == ("paper", 7, 24)
    path.write_text('corpus = "c"\npreset = "papr"\n')
    assert load_config(path, "paper").preset == "paper"
    with pytest.raises(InputError, match=r"preset = 'papr': Input should be 'paper' or 'savoir'"):
        load_config(path)
    path.write_text('corpus = "c"\n[train_reward]\npreset = "papr"\n')
    with pytest.raises(InputError, match=r"train_reward.preset = 'papr': Input should be 'paper' or 'savoir'"):
        load_config(path)
    path.write_text('corpus = "c"\npreset = "paper"\nalign = 3\n')
    with pytest.raises(InputError, match="align = 3"):
        load_config(path)


def test_without_a_preset_finished_work_keeps_its_keys():
    plain = made()
    model = BY_NAME["train-reward"].settings(plain, Unit(None, "llm", 0))["model"]
    assert not model.keys() & {"preset", "batch_turns", "lora_rank", "reading"}
    assert not BY_NAME["embed"].settings(plain, Unit("a")).keys() & {"preset", "batch_turns", "lora_rank", "reading"}
    assert "preset" not in BY_NAME["evaluate"].settings(plain, Unit())["evaluate"]
    assert "preset" not in BY_NAME["features"].settings(plain, Unit("a"))
    assert "preset" not in BY_NAME["split"].settings(plain, Unit())["split"]
    counted = BY_NAME["train-reward"].settings(made(train_reward={"batch_turns": 9}), Unit(None, "llm", 0))["model"]
    assert counted == {**model, "batch_turns": 9}
    # What an encoder-decoder's encoder alone gave is made anew.
    other = made(train_reward={"backbone": "facebook/bart-large"})
    assert BY_NAME["embed"].settings(other, Unit("a"))["reading"] == 2
    assert BY_NAME["train-reward"].settings(other, Unit(None, "llm", 0))["model"]["reading"] == 2


def test_what_stands_in_and_which_keys_went_before_are_told():
    assert preset_notes(made()) == ()
    whole = preset_notes(made(preset="paper"))
    sections = ", ".join(f"{section} (paper)" for section in sections_with("paper"))
    assert whole == (f"Settings by preset: {sections}.",)
    notes = preset_notes(load_config(DEMO, "paper"))
    assert "The embedded MiniLM (frozen) stands in the place of BART (facebook/bart-large)" in notes[1]
    assert "`tiny` stands in LLaMA-2-7B's place" in notes[2]
    assert "decompose.llm.model = claude (published: o3-mini)" in notes[3]
    bare = preset_notes(load_config(DEMO, "paper"), aligns=False)
    assert len(bare) == 3 and not any("tiny" in note or "align" in note for note in bare)
    assert preset_notes(made(train_reward={"backbone": "minilm", "preset": "paper"}))[0].endswith(
        "train_reward (paper)."
    )


def test_the_prompt_that_hands_out_the_score_asks_for_the_score_as_target_once(tmp_path):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=6)
    values = {"corpus": corpus, "output": tmp_path / "run", "align": {"enabled": False}}
    llm = {"model": "m", "base_url": "http://localhost:1/v1", "prompt": "paper"}

    def told(**decompose) -> list[str]:
        methods = {"method": "llm-multimodal", "compare": ["uniform", "llm"], **decompose}
        return [text for text in check(Config.model_validate({**values, "decompose": methods})) if "prompt" in text]

    (warning,) = told(llm=llm)
    assert "decompose.llm.prompt = 'paper'" in warning and "Set decompose.target to 'score'" in warning
    assert told(llm=llm, target="score") == told(llm={**llm, "prompt": "default"}) == []
    assert told(llm=llm, method="uniform", compare=[]) == []


def test_a_backbone_that_cannot_be_had_stops_a_run_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    values = {"corpus": write_small_corpus(tmp_path / "corpus", sessions=6), "output": tmp_path / "run"}

    def checked(stage: str, method: str, **train_reward) -> None:
        sections = {"train_reward": train_reward, "decompose": {"method": method, "compare": []}}
        check(Config.model_validate({**values, "preset": "paper", **sections}), [stage])

    for stage, method in (("train-reward", "uniform"), ("rewards", "rrd"), ("report", "uniform")):
        with pytest.raises(InputError, match=r"backbone 'facebook/bart-large' cannot be loaded"):
            checked(stage, method)
    # Nothing that is trained reads it, or it can be had.
    checked("rewards", "uniform")
    checked("rewards", "reaction")
    checked("train-reward", "uniform", backbone="minilm")
    checked("train-reward", "uniform", backbone=str(save_tiny(tmp_path / "bert")), max_tokens=32)


@pytest.mark.parametrize("name", ["paper", "savoir", "savoir-sft"])
def test_every_value_has_its_source(name):
    published = [value for kind in sections_with(name).values() for _, value in items(kind.PRESETS[name])]
    assert all(value.source for value in published) and len(table(name)) == len(published) + 2


def test_savoir_by_one_key():
    config = made(preset="savoir", align={"preset": "savoir-sft"})
    assert sections_with("savoir").keys() == {"decompose", "train_reward", "align"}
    assert (config.decompose.methods, config.decompose.savoir.rollouts) == (("savoir-paper",), 2)
    assert config.decompose.savoir.weights == {"GOAL": 0.5, "REL": 0.3, "KNO": 0.2}
    assert (config.train_reward.preset, config.align.preset) == ("savoir", "savoir-sft")
    notes = preset_notes(made(preset="savoir", train_reward={"backbone": "minilm"}, align={"policy": "tiny"}))
    assert notes[0] == "Settings by preset: decompose (savoir), train_reward (savoir), align (savoir)."
    assert "stands in the place of Qwen2.5-7B" in notes[1] and "`tiny` stands in Qwen2.5-7B's place" in notes[2]
    only_sft = preset_notes(made(align={"preset": "savoir-sft", "policy": "tiny"}))
    assert only_sft[0] == "Settings by preset: align (savoir-sft)." and "Qwen2.5-7B's place" in only_sft[1]


def test_the_preset_is_in_the_configuration_that_a_report_shows():
    assert shown_config(made(preset="paper"))["preset"] == "paper"


def test_an_objective_that_the_preset_brings_needs_no_method_that_has_one_and_one_that_is_set_does(tmp_path):
    values = {"corpus": write_small_corpus(tmp_path / "corpus", sessions=6), "output": tmp_path / "run"}

    def told(**train_reward) -> list[str]:
        sections = {
            "train_reward": {"backbone": "minilm", **train_reward},
            "decompose": {"method": "uniform", "compare": []},
        }
        warnings = check(Config.model_validate({**values, "preset": "paper", **sections}), ["train-reward"])
        return [text for text in warnings if "objective" in text]

    assert told() == [] and len(told(objective="both")) == 1
