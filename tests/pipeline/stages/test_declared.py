import re
from pathlib import Path

import pytest

from corpus.session import Media, Rating, Session, Turn
from foundation.errors import InputError
from pipeline.config import Config
from pipeline.engine.stage import Unit
from pipeline.engine.units import Plan
from pipeline.running.shards import _split, list_shards
from pipeline.stages.declared import STAGES, aligned_method

BY_NAME = {stage.name: stage for stage in STAGES}


def session(name: str, recorded: bool = False, rated: bool = True) -> Session:
    turns = (Turn(0, "user", "hi"), Turn(1, "bot", "hello"), Turn(2, "user", "bye"))
    ratings = (Rating("user", "bot", "mood", 3.0, 1.0, 5.0),) if rated else ()
    return Session(name, turns, ratings, (Media("user", "video", "u.mp4"),) if recorded else ())


def plan(methods: tuple[str, ...], seeds: tuple[int, ...] = (0, 1), **train: object) -> Plan:
    config = Config.model_validate(
        {"corpus": "c", "rating": "mood", "seeds": seeds, "decompose": {"methods": methods}, "train_reward": train}
    )
    sessions = {s.session_id: s for s in (session("a", recorded=True), session("b"), session("c", rated=False))}
    return Plan(STAGES, config, sessions)


def test_every_need_is_a_stage_declared_before():
    seen: set[str] = set()
    for stage in STAGES:
        assert set(stage.needs) <= seen
        seen.add(stage.name)


def test_the_diagram_in_the_docs_shows_these_stages():
    text = (Path(__file__).parents[3] / "docs" / "run.md").read_text(encoding="utf-8")
    drawn = set(re.findall(r"^  (\S+) --> (\S+)$", text, re.MULTILINE))
    assert drawn == {(need, stage.name) for stage in STAGES for need in stage.needs}


def test_people_s_turn_labels_are_shown_to_the_evaluation_alone():
    assert [stage.name for stage in STAGES if stage.turn_labels] == ["evaluate"]
    assert not any("turn_labels" in stage.reads for stage in STAGES)


def test_units_are_those_that_apply():
    units = plan(("uniform", "rrd", "llm-multimodal")).units
    assert units["features"] == (Unit("a"),)
    assert [unit.session_id for unit in units["embed"]] == ["a", "b"]
    assert {unit.method for unit in units["judge"]} == {"uniform", "llm-multimodal"}
    assert units["fit"] == (Unit(method="rrd", seed=0), Unit(method="rrd", seed=1))
    assert len(units["train-reward"]) == 6
    assert units["align"] == (Unit(method="llm-multimodal", seed=0),)
    assert units["report"] == (Unit(),)


def test_a_blend_is_fitted_on_the_labels_of_the_method_that_it_mixes_in():
    found = plan(("llm", "reaction", "reaction-llm"))
    needed = found.needed("fit", Unit(method="reaction-llm", seed=1))
    assert {unit.method for unit in needed["judge"]} == {"llm"}
    assert {unit.session_id for unit in needed["judge"]} == {unit.session_id for unit in needed["react"]}
    assert "judge" not in found.needed("fit", Unit(method="reaction", seed=1))
    assert "judge" in found.upstream("fit") and "judge" not in plan(("reaction", "rrd")).upstream("fit")


def test_a_trained_backbone_needs_no_embeddings():
    assert plan(("rrd",), freeze_backbone=False).units["embed"] == ()


def test_reactions_are_read_where_a_method_asks_for_them():
    assert plan(("uniform", "rrd")).units["react"] == ()
    both = plan(("rrd", "reaction"))
    assert both.units["react"] == (Unit("a"), Unit("b"))
    assert set(both.needed("fit", Unit(None, "reaction", 0))) == {"split", "features", "react"}
    assert set(both.needed("fit", Unit(None, "rrd", 0))) == {"split", "embed"}


def test_a_closed_fit_does_not_depend_on_the_reward_model_s_settings():
    fit, react = BY_NAME["fit"], BY_NAME["react"]
    one, two, three = (
        Config.model_validate({"corpus": "c", "train_reward": {"epochs": e}, "decompose": {"reaction": {"late": late}}})
        for e, late in ((1, [0.0]), (2, [0.0]), (2, [1.0]))
    )
    unit = Unit(None, "reaction", 0)
    assert fit.settings(one, unit) == fit.settings(two, unit) != fit.settings(three, unit)
    assert react.settings(one, Unit("a")) == react.settings(three, Unit("a"))


def test_a_unit_needs_what_agrees_with_it_and_what_its_method_reads():
    p = plan(("uniform", "rrd", "llm-multimodal"))
    assert p.needed("judge", Unit("a", "uniform")) == {}
    assert p.needed("judge", Unit("a", "llm-multimodal")) == {"describe": [Unit("a")]}
    assert p.needed("judge", Unit("b", "llm-multimodal")) == {}
    faces = plan(("affect", "rrd", "rrd-va"))
    assert faces.needed("judge", Unit("a", "affect")) == {"features": [Unit("a")]}
    assert set(faces.needed("fit", Unit(None, "rrd-va", 0))) == {"split", "features", "embed"}
    assert set(faces.needed("fit", Unit(None, "rrd", 0))) == {"split", "embed"}
    assert set(p.needed("rewards", Unit(None, "rrd", 1))) == {"split", "fit"}
    assert p.needed("rewards", Unit(None, "rrd", 1))["fit"] == [Unit(None, "rrd", 1)]
    assert set(p.needed("rewards", Unit(None, "uniform", 1))) == {"split", "judge"}
    assert p.needed("align", Unit(None, "llm-multimodal", 0))["train-reward"] == [Unit(None, "llm-multimodal", 0)]
    assert len(p.needed("evaluate", Unit())["train-reward"]) == 6


def test_only_stages_that_some_unit_needs_are_run():
    assert plan(("uniform",)).upstream("rewards") == ["split", "judge", "rewards"]
    assert plan(("rrd",)).upstream("rewards") == ["split", "embed", "fit", "rewards"]
    assert plan(("reaction",)).upstream("rewards") == ["split", "features", "react", "fit", "rewards"]
    assert plan(("llm-multimodal",)).upstream("judge") == ["features", "describe", "judge"]
    assert plan(("affect",)).upstream("rewards") == ["split", "features", "judge", "rewards"]
    assert plan(("rrd-ls",)).upstream("rewards") == ["split", "embed", "fit", "rewards"]


def test_another_method_s_settings_leave_a_judgement_valid():
    config = Config.model_validate({"corpus": "c", "decompose": {"methods": ("uniform", "llm")}})
    other = Config.model_validate({"corpus": "c", "decompose": {"methods": ("llm",), "llm": {"model": "another"}}})
    stage = BY_NAME["judge"]
    assert stage.settings(config, Unit("a", "uniform")) == stage.settings(other, Unit("a", "uniform"))
    assert stage.settings(config, Unit("a", "llm")) != stage.settings(other, Unit("a", "llm"))


def test_how_a_reply_is_fetched_is_no_part_of_its_identity():
    stage = BY_NAME["judge"]
    one, two = (
        Config.model_validate({"corpus": "c", "decompose": {"methods": ("llm",), "llm": {"concurrency": n}}})
        for n in (2, 9)
    )
    assert stage.settings(one, Unit("a", "llm")) == stage.settings(two, Unit("a", "llm"))
    assert stage.concurrent(two, Unit("a", "llm")) == 9


def test_the_policy_is_aligned_with_the_chosen_method_or_the_last():
    config = {"corpus": "c", "decompose": {"methods": ("uniform", "rrd")}}
    assert aligned_method(Config.model_validate(config)) == "rrd"
    assert aligned_method(Config.model_validate({**config, "align": {"reward_method": "uniform"}})) == "uniform"


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 1024])
def test_shards_hold_every_unit_once_and_are_no_more_than_asked_for(shards):
    p = plan(("uniform", "llm", "llm-multimodal"))

    class FakeEngine:
        plan = p
        config = Config.model_validate({"corpus": "c", "decompose": {"methods": ("uniform", "llm", "llm-multimodal")}})

    parts = _split(FakeEngine(), BY_NAME["judge"], shards)
    assert len(parts) <= shards
    assert all(parts)
    assert sorted(unit for part in parts for unit in part) == sorted(p.units["judge"])


@pytest.mark.parametrize("shards", [0, 1025])
def test_too_few_or_too_many_shards(shards):
    with pytest.raises(InputError, match="allowed are 1 to 1024"):
        _split(None, BY_NAME["judge"], shards)


def test_an_unknown_stage_or_corpus(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('corpus = "none"')
    with pytest.raises(InputError, match="no such corpus folder"):
        list_shards(str(path), "judge", 2)
