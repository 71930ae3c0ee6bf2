"""The characters and scenarios that come with the project."""

from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import BIG_FIVE, DECISION_STYLES, MORAL_VALUES, SCHWARTZ_VALUES


def test_twelve_scenarios_of_which_rules_check_eight_and_eight_characters() -> None:
    scenarios = bundled_tasks.scenarios()
    assert len(scenarios) == len({one.name for one in scenarios}) == 12
    assert sum(one.terms is not None for one in scenarios) == 8
    characters = bundled_tasks.characters()
    assert len(characters) == len({one.name for one in characters}) == 8


def test_characters_use_the_types_of_the_paper() -> None:
    for one in bundled_tasks.characters():
        assert all(trait in one.big_five for trait in BIG_FIVE)
        assert set(one.moral_values) <= set(MORAL_VALUES) and set(one.schwartz_values) <= set(SCHWARTZ_VALUES)
        assert one.decision_style in DECISION_STYLES and one.secret and one.secret_words and one.public_info


def test_every_scenario_has_tasks_and_every_relationship_is_of_somebody() -> None:
    assert {task.scenario.name for task in bundled_tasks.tasks()} == {one.name for one in bundled_tasks.scenarios()}
    names = {one.name for one in bundled_tasks.characters()}
    assert all(len(pair) == 2 and pair <= names for pair in bundled_tasks.relationships())


def test_no_goal_says_what_the_other_side_keeps_to_itself() -> None:
    for scenario in bundled_tasks.scenarios():
        for seat, phrases in enumerate(scenario.terms.keep if scenario.terms else ()):
            others = " ".join(goal for other, goal in enumerate(scenario.goals) if other != seat)
            assert not any(phrase in (others + scenario.context).casefold() for phrase in phrases)
