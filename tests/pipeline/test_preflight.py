"""What is checked before any work: each stage's own check, for the stages that would run and no other."""

from dataclasses import replace

import numpy as np
import pytest

from apportion.corpus.session import Media, Session
from apportion.features.vocal_intensity_model.model import IntensityModel
from apportion.foundation.errors import InputError
from apportion.pipeline import assembly
from apportion.pipeline.config import Config
from apportion.pipeline.engine.provenance import has_sound
from apportion.pipeline.engine.stage import Stages
from apportion.pipeline.preflight import check
from apportion.pipeline.stages.registry import STAGES
from tests.behaviour.small import write_small_corpus


def config(corpus, **values) -> Config:
    return Config.model_validate({"corpus": corpus, "output": corpus.parent / "run", **values})


@pytest.fixture
def corpus(tmp_path):
    return write_small_corpus(tmp_path / "corpus", sessions=6)


def test_only_the_stages_that_would_run_are_checked_and_equal_warnings_are_given_once(corpus, monkeypatch):
    asked = []

    def noting(stage):
        def look(before):
            asked.append((stage.name, len(before.units), before.sends))
            return ("the same",)

        return replace(stage, check=look)

    monkeypatch.setattr(assembly, "STAGES", Stages.of(*map(noting, STAGES.values())))
    assembly._kept.clear()
    warnings = check(config(corpus, decompose={"method": "uniform"}), ["rewards"], sends=False)
    assembly._kept.clear()
    assert asked == [("split", 1, False), ("judge", 6, False), ("rewards", 1, False)]
    assert warnings.count("the same") == 1


def test_samples_that_cannot_differ_are_warned_of(corpus):
    llm = {"model": "m", "base_url": "http://localhost:1/v1", "samples": 3, "temperature": 0.0}
    values = {"decompose": {"method": "llm", "compare": ["uniform"], "llm": llm}}
    assert any("samples = 3 at temperature = 0" in warning for warning in check(config(corpus, **values), ["rewards"]))
    assert not any("temperature" in warning for warning in check(config(corpus, **values), ["split"]))


def test_without_a_test_split_the_run_is_warned(corpus):
    split = {"train": 0.8, "validation": 0.1, "test": 0.0, "policy": 0.1}
    warnings = check(config(corpus, split=split))
    assert any("split.test = 0" in warning for warning in warnings)


def test_a_method_to_align_with_must_be_made(corpus):
    with pytest.raises(InputError, match=r"align.reward_method = 'llm': not among the methods \(uniform\)"):
        check(config(corpus, decompose={"method": "uniform"}, align={"reward_method": "llm"}))


def test_a_reward_model_to_align_with_must_be_made(corpus):
    values = {"decompose": {"method": "uniform", "compare": ["rrd"]}, "align": {"reward_method": "rrd-direct"}}
    with pytest.raises(InputError, match=r"reward models of this run \(rrd, uniform\). Set train_reward.objective to"):
        check(config(corpus, **values))
    unknown = {**values, "align": {"reward_method": "ircr-direct"}}
    with pytest.raises(
        InputError, match=r"'ircr-direct': not among the methods \(rrd, uniform\). Add it to decompose.compare"
    ):
        check(config(corpus, **unknown))
    distilled = {**values, "align": {"reward_method": "uniform-direct"}}
    with pytest.raises(InputError, match=r"'uniform' is no objective, and its rewards are distilled. Choose one"):
        check(config(corpus, **distilled))
    check(config(corpus, train_reward={"objective": "direct"}, **values))


@pytest.mark.parametrize(
    ("together", "told"),
    [
        (["rrd", "llm"], r"align.reward_ensemble = 'llm': not among the methods \(rrd, uniform\)"),
        (["rrd"], r"align.reward_ensemble = \['rrd'\]: with the one seed of the run that is one reward model. Name"),
    ],
)
def test_reward_models_that_score_together_must_be_made_and_be_several(corpus, together, told):
    values = {"decompose": {"method": "uniform", "compare": ["rrd"]}, "align": {"reward_ensemble": together}}
    with pytest.raises(InputError, match=told):
        check(config(corpus, seeds=[0], **values))
    several = {**values, "align": {"reward_ensemble": ["rrd"]}}
    check(config(corpus, seeds=[0, 1], **several))
    with pytest.raises(InputError, match=r"align.reward_ensemble with split.validation = 0: .* Give it a share"):
        check(
            config(corpus, seeds=[0, 1], split={"validation": 0, "train": 0.8, "test": 0.1, "policy": 0.1}, **several)
        )


def test_where_both_forms_are_trained_the_advice_is_to_name_another_one(corpus):
    values = {"decompose": {"method": "rudder"}, "train_reward": {"objective": "both"}}
    with pytest.raises(InputError, match=r"to another one \(rudder\)\.$"):
        check(config(corpus, **values, align={"reward_method": "rudder-direct"}))


@pytest.mark.parametrize(("methods", "others"), [(["uniform", "rudder"], "uniform"), (["rudder"], "there is none")])
def test_no_policy_is_aligned_with_a_network_that_reads_whole_dialogues(corpus, methods, others):
    chosen = config(
        corpus, decompose={"method": methods[-1], "compare": methods[:-1]}, train_reward={"objective": "direct"}
    )
    with pytest.raises(InputError, match=f"align: the reward model 'rudder-direct' reads .*{others}.*'both'"):
        check(chosen)
    check(chosen, ["evaluate"])
    check(
        config(corpus, decompose={"method": methods[-1], "compare": methods[:-1]}, train_reward={"objective": "both"})
    )


def test_an_objective_that_no_method_has_is_warned_of(corpus):
    def told(methods, objective):
        chosen = config(
            corpus, decompose={"method": methods[-1], "compare": methods[:-1]}, train_reward={"objective": objective}
        )
        return [warning for warning in check(chosen) if "train_reward.objective" in warning]

    (warning,) = told(["uniform", "sentiment"], "direct")
    assert "none of the methods (uniform, sentiment) is an objective" in warning
    assert not told(["uniform", "rrd"], "direct") and not told(["uniform"], "distilled")


@pytest.mark.parametrize("name", ["affect", "rrd-va"])
def test_a_method_that_looks_at_faces_needs_some(corpus, name):
    chosen = config(corpus, decompose={"method": name, "compare": ["uniform"]})
    with pytest.raises(InputError, match=f"decompose: '{name}' look at the rater's face, and no session"):
        check(chosen)
    assert check(chosen, ["split"]) is not None


def test_a_method_that_listens_to_voices_needs_some_and_a_model(corpus, tmp_path):
    named = {"method": "intensity", "compare": ["uniform"]}
    with pytest.raises(InputError, match=r"no model of vocal intensity is named \(decompose.intensity.model\)"):
        check(config(corpus, decompose=named))
    IntensityModel(np.zeros(5), 0.0).save(tmp_path / "model", {})
    chosen = config(corpus, decompose={**named, "intensity": {"model": tmp_path / "model"}})
    with pytest.raises(InputError, match=r"decompose: 'intensity' listen to voices, and no session"):
        check(chosen)


@pytest.mark.parametrize(
    ("media", "heard"),
    [
        (Media("a", "audio", "a.wav"), True),
        (Media("a", "video", "a.mp4"), True),
        (Media("a", "video", "a.mp4", channel="left"), False),
        (Media("a", "features", "a.csv"), False),
    ],
)
def test_who_can_be_heard(media, heard):
    assert has_sound([Session("s", (), (), (media,))]) == heard
