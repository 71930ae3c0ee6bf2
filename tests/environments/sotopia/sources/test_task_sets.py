"""Where tasks come from, and the named sets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import used_by
from apportion.environments.sotopia.sources.task_file import written
from apportion.environments.sotopia.sources.task_sets import (
    PUBLISHED_HARD,
    SETS,
    chosen_space,
    open_space,
    overview,
    sampled,
)
from apportion.environments.sotopia.tasks import BIG_FIVE, DECISION_STYLES, MORAL_VALUES, SCHWARTZ_VALUES
from apportion.foundation.errors import InputError
from tests.environments.sotopia.sources.test_published import PLACE, TASK, write
from tests.shared import shared


def file_of(tmp_path: Path, tasks: int, named: str) -> Path:
    space = bundled_tasks.space()
    drawn = replace(used_by(space, space.draw()[:tasks]), named=named)
    path = tmp_path / f"{named or 'tasks'}.toml"
    path.write_text(written(drawn))
    return path


def test_the_sets_have_names_of_their_own_and_tell_what_they_need() -> None:
    assert list(SETS) == ["checkable", "sotopia-hard", "savoir-hard", "stackelberg"]
    assert len(PUBLISHED_HARD) == 14
    assert len(chosen_space(None, "checkable").scenarios) == 8
    with pytest.raises(InputError, match="no set 'savoir': did you mean 'savoir-hard'"):
        chosen_space(None, "savoir")
    with pytest.raises(InputError, match="no set 'xyz': there are checkable"):
        chosen_space(None, "xyz")
    with pytest.raises(InputError, match="rules can check none of the 1 scenarios"):
        SETS["checkable"].choose(bundled_tasks.space().only(("borrowed_coat",)))


@pytest.mark.parametrize(("name", "size"), [("sotopia-hard", 20), ("stackelberg", 90)])
def test_a_set_of_tasks_is_in_a_file_that_says_so_and_has_as_many(tmp_path: Path, name: str, size: int) -> None:
    with pytest.raises(InputError, match=f"{name}: not in bundled: .*What is needed: a file|{name}: not in bundled"):
        chosen_space(None, name)
    other = "stackelberg" if name == "sotopia-hard" else "sotopia-hard"
    with pytest.raises(InputError, match=f"its tasks are the set '{other}'"):
        chosen_space(file_of(tmp_path, 20, other), name)
    with pytest.raises(InputError, match=f"says that it is the set '{name}' and has 7 tasks, not {size}"):
        chosen_space(file_of(tmp_path, 7, name), name)


def test_the_20_tasks_of_a_file_are_played_under_their_name(tmp_path: Path) -> None:
    space = chosen_space(file_of(tmp_path, 20, "sotopia-hard"), "sotopia-hard")
    assert (space.named, len(space.draw())) == ("sotopia-hard", 20)
    assert sampled(space, None).named == "sotopia-hard" and sampled(space, 19).named == ""


def test_the_14_scenarios_are_found_by_their_ids(tmp_path: Path) -> None:
    places = [{**PLACE, "pk": pk, "age_constraint": "nan"} for pk in (*sorted(PUBLISHED_HARD), "01HOTHER")]
    tasks = [{**TASK, "pk": f"t{number}", "env_id": place["pk"]} for number, place in enumerate(places)]
    folder = write(tmp_path / "all", EnvironmentProfile=places, EnvAgentComboStorage=tasks)
    space = chosen_space(folder, "savoir-hard")
    assert {one.name for one in space.scenarios} == PUBLISHED_HARD and len(space.draw()) == 14
    few = write(tmp_path / "few", EnvironmentProfile=places[:3], EnvAgentComboStorage=tasks[:3])
    with pytest.raises(InputError, match="savoir-hard: 3 of its 14 scenarios"):
        chosen_space(few, "savoir-hard")


def test_none_of_the_14_is_in_the_published_data() -> None:
    with pytest.raises(InputError, match=r"none of its 14 scenarios is among the 303 .*What is needed: a folder"):
        chosen_space(shared("data/sotopia"), "savoir-hard")


def test_tasks_are_drawn_from_the_published_combinations_that_keep_their_constraints() -> None:
    folder = shared("data/sotopia")
    space = open_space(folder)
    tasks = space.draw()
    assert len(tasks) == 1276 and tasks == space.draw() != space.draw(seed=1)
    assert all(task.scenario.broken(task.characters) is None for task in tasks)
    told = overview(space)
    assert len(told["scenarios"]) == 303 and len(told["characters"]) == 40 and "CC BY-SA" in told["notes"][0]
    assert sum(len(one["knows"]) for one in told["characters"]) == 240
    assert not any(secret in json.dumps(told) for one in space.characters if (secret := one.secret))


def test_a_file_that_lacks_characters_or_scenarios_is_completed(tmp_path: Path) -> None:
    ours = bundled_tasks.space()
    people = tmp_path / "people.toml"
    people.write_text(written(replace(ours, scenarios=())))
    space = open_space(people)
    assert space.scenarios == ours.scenarios and "no scenarios of its own" in space.notes[-1]
    places = tmp_path / "places.toml"
    places.write_text(written(replace(ours.only(("drum_kit",)), characters=(), relationships=())))
    space = open_space(places)
    assert len(space.draw()) == 4 and "played by the bundled ones" in space.notes[-1]
    with pytest.raises(InputError, match="no such file or folder"):
        open_space(tmp_path / "nothing")


def test_a_sample_has_as_many_tasks_as_asked_for_in_their_order() -> None:
    space = bundled_tasks.space()
    drawn = sampled(space, 10, seed=2)
    assert len(drawn.tasks) == 10 and drawn == sampled(space, 10, seed=2) != sampled(space, 10, seed=3)
    order = [one.name for one in space.scenarios]
    places = [order.index(task.scenario.name) for task in drawn.tasks]
    assert places == sorted(places)
    assert len(sampled(space, None).tasks) == 43
    with pytest.raises(InputError, match="bundled: 44 tasks are asked for, and there are 43"):
        sampled(space, 44)


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
