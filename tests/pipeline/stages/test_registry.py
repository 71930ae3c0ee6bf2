from apportion.pipeline.config import Config
from apportion.pipeline.engine.plan import NO_SCORE, LeftOut, Plan
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.stages.registry import STAGES
from tests.pipeline.stages.planned import plan, session


def test_every_need_is_a_stage_declared_before():
    seen: set[str] = set()
    for stage in STAGES.values():
        assert set(stage.needs) <= seen
        seen.add(stage.name)


def test_units_are_those_that_apply():
    units = plan(("uniform", "rrd", "llm-multimodal")).units
    assert units["features"] == (Unit("a"),)
    assert [unit.session_id for unit in units["embed"]] == ["a", "b"]
    assert {unit.method for unit in units["judge"]} == {"uniform", "llm-multimodal"}
    assert units["fit"] == (Unit(method="rrd", seed=0), Unit(method="rrd", seed=1))
    assert len(units["train-reward"]) == 6
    assert units["align"] == (Unit(method="llm-multimodal", seed=0),)
    assert units["report"] == (Unit(),)


def test_where_nobody_scored_what_works_on_scores_has_no_units():
    config = Config.model_validate({"corpus": "c", "decompose": {"method": "rrd", "compare": ("uniform",)}})
    sessions = {"c": session("c", rated=False)}
    reasons = LeftOut(STAGES, config, sessions)
    bare = Plan(STAGES, config, sessions, reasons)
    assert {name for name, units in bare.units.items() if units} == {"split", "align", "report"}
    assert {name for name, why in reasons.items() if why == NO_SCORE} == {
        "hand-labels", "embed", "react", "select-sessions", "rubric", "judge", "audit", "stability", "fit", "rewards",
        "slices",
        "train-reward", "evaluate",
    }  # fmt: skip
    assert bare.upstream("align") == ["split", "align"]


def test_with_another_runs_reward_model_the_policy_needs_none_of_this_one():
    sessions = {"a": session("a")}
    config = {"corpus": "c", "rating": "mood", "decompose": {"method": "uniform"}}
    for align, needs in (
        ({}, {"split", "train-reward", "evaluate"}),
        ({"anyway": True}, {"split", "train-reward"}),
        ({"reward_model": "elsewhere"}, {"split"}),
    ):
        made = Plan(STAGES, Config.model_validate({**config, "align": align}), sessions)
        (unit,) = made.units["align"]
        assert made.needed("align", unit).keys() == needs
        assert ("train-reward" in made.upstream("align")) == ("train-reward" in needs)


def test_a_unit_needs_what_agrees_with_it_and_what_its_method_reads():
    p = plan(("uniform", "rrd", "llm-multimodal"))
    assert p.needed("judge", Unit("a", "uniform")) == {}
    assert p.needed("judge", Unit("a", "llm-multimodal")) == {"verbalize": [Unit("a")]}
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
    assert plan(("reaction",)).upstream("rewards") == ["split", "features", "embed", "react", "fit", "rewards"]
    labelled = ["split", "hand-labels", "features", "embed", "react", "fit", "rewards"]
    assert plan(("people-student",)).upstream("rewards") == labelled and "hand-labels" in plan(("mix",)).upstream("fit")
    assert plan(("llm-multimodal",)).upstream("judge") == ["features", "verbalize", "judge"]
    assert plan(("affect",)).upstream("rewards") == ["split", "features", "judge", "rewards"]
    assert plan(("rrd-ls",)).upstream("rewards") == ["split", "embed", "fit", "rewards"]
