from pathlib import Path

from apportion.corpus.session import Session
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import Unit
from tests.pipeline.stages.planned import BY_NAME, plan


def test_a_blend_is_fitted_on_the_labels_of_the_method_that_it_mixes_in():
    found = plan(("llm", "reaction", "reaction-llm"))
    needed = found.needed("fit", Unit(method="reaction-llm", seed=1))
    assert {unit.method for unit in needed["judge"]} == {"llm"}
    assert {unit.session_id for unit in needed["judge"]} == {unit.session_id for unit in needed["react"]}
    assert "judge" not in found.needed("fit", Unit(method="reaction", seed=1))
    assert "judge" in found.upstream("fit") and "judge" not in plan(("reaction", "rrd")).upstream("fit")


def test_a_mix_is_fitted_on_the_judgements_of_all_its_sources_that_are_run():
    found = plan(("llm", "sentiment", "uniform", "reaction", "mix"))
    needed = found.needed("fit", Unit(method="mix", seed=0))
    assert {unit.method for unit in needed["judge"]} == {"llm", "sentiment"}
    assert {unit.session_id for unit in needed["react"]} == {"a", "b"}
    assert "judge" not in plan(("reaction", "mix")).needed("fit", Unit(method="mix", seed=0))


def test_reactions_are_read_where_a_method_asks_for_them():
    assert plan(("uniform", "rrd")).units["react"] == ()
    both = plan(("rrd", "reaction"))
    assert both.units["react"] == (Unit("a"), Unit("b"))
    assert set(both.needed("fit", Unit(None, "reaction", 0))) == {"split", "features", "react"}
    assert set(both.needed("fit", Unit(None, "rrd", 0))) == {"split", "embed"}


def test_a_closed_fit_does_not_depend_on_the_reward_model_s_settings():
    fit, react = BY_NAME["fit"], BY_NAME["react"]
    one, two, three = (
        Config.model_validate(
            {"corpus": "c", "train_reward": {"epochs": e}, "decompose": {"reaction": {"recency_weights": late}}}
        )
        for e, late in ((1, [0.0]), (2, [0.0]), (2, [1.0]))
    )
    unit = Unit(None, "reaction", 0)
    assert fit.settings(one, unit) == fit.settings(two, unit) != fit.settings(three, unit)
    assert react.settings(one, Unit("a")) == react.settings(three, Unit("a"))


def test_another_method_s_settings_leave_a_judgement_valid():
    config = Config.model_validate({"corpus": "c", "decompose": {"method": "llm", "compare": ("uniform",)}})
    other = Config.model_validate({"corpus": "c", "decompose": {"method": "llm", "llm": {"model": "another"}}})
    stage = BY_NAME["judge"]
    assert stage.settings(config, Unit("a", "uniform")) == stage.settings(other, Unit("a", "uniform"))
    assert stage.settings(config, Unit("a", "llm")) != stage.settings(other, Unit("a", "llm"))


def test_how_a_reply_is_fetched_is_no_part_of_its_identity():
    stage = BY_NAME["judge"]
    one, two = (
        Config.model_validate({"corpus": "c", "decompose": {"method": "llm", "llm": {"concurrency": n}}})
        for n in (2, 9)
    )
    assert stage.settings(one, Unit("a", "llm")) == stage.settings(two, Unit("a", "llm"))
    assert stage.concurrent(two, Unit("a", "llm"), Session("a", ()), Path()) == 9


def test_the_soft_constraint_makes_other_rewards_and_leaves_the_key_of_the_exact_ones_as_it_was():
    stage = BY_NAME["rewards"]
    exact, soft = (
        stage.settings(Config.model_validate({"corpus": "c", "decompose": decompose}), Unit(None, "uniform", 0))
        for decompose in ({"constraint": "exact"}, {"constraint": "soft"})
    )
    assert soft == {**exact, "constraint": "soft"}
    assert exact.keys() == {"rating", "target", "reward_units", "null", "attribution"}


def test_what_was_learned_for_another_target_is_learned_anew_and_the_default_s_key_is_as_it_was():
    relative, score = (
        Config.model_validate({"corpus": "c", "decompose": {"target": target}}) for target in ("relative", "score")
    )
    keys = [BY_NAME["fit"].settings(config, Unit(None, "rudder", 0)) for config in (relative, score)]
    assert keys[1] == {**keys[0], "target": "score"}
    assert keys[0].keys() == {"rating", "model", "threads", "own"}
    # Reactions are worth what they are, whatever rewards sum to.
    closed = [BY_NAME["fit"].settings(config, Unit(None, "reaction", 0)) for config in (relative, score)]
    assert closed[0] == closed[1]
