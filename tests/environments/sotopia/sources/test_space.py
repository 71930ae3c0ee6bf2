"""Task spaces."""

from dataclasses import replace

import pytest

from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace, used_by
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task
from apportion.foundation.errors import InputError

ANN, BOB = Character("Ann", 30), Character("Bob", 60)


def scenario(relationship: Relationship, name: str = "s") -> Scenario:
    return Scenario(name, "x", ("a", "b"), relationship)


def test_of_two_relationships_the_scenario_s_decides() -> None:
    pairs = tuple(KnownPair(("Ann", "Bob"), kind) for kind in (Relationship.FRIEND, Relationship.ROMANTIC))
    space = TaskSpace("x", (ANN, BOB), pairs)
    assert space.twice() == 1
    for kind in Relationship:
        there = replace(space, scenarios=(scenario(kind),))
        assert len(there.fitting(there.scenarios[0])) == (kind in (Relationship.FRIEND, Relationship.ROMANTIC))
    with pytest.raises(InputError, match="none of the 2 characters fit any of the 1 scenarios"):
        replace(space, scenarios=(scenario(Relationship.STRANGER),)).draw()


def test_stated_tasks_are_played_as_they_are_or_drawn_from() -> None:
    strangers = scenario(Relationship.STRANGER)
    young = replace(strangers, ages=((0, 40), (0, 99)))
    tasks = (Task(young, (ANN, BOB)), Task(young, (BOB, ANN)))
    space = TaskSpace("x", (ANN, BOB), (), (young,), tasks)
    assert space.draw(pairs=1) == list(tasks)
    assert replace(space, exact=False).draw(pairs=5) == [tasks[0]]  # The other one breaks the ages.
    assert used_by(replace(space, exact=False), tasks[:1]) == replace(space, tasks=tasks[:1])


def test_a_scenario_for_three_needs_stated_tasks() -> None:
    three = Scenario("three", "x", ("a", "b", "c"), Relationship.STRANGER)
    people = (ANN, BOB, Character("Cy"))
    with pytest.raises(InputError, match="'three' is for 3; pairs are drawn for two: state who plays it"):
        TaskSpace("x", people, (), (three,)).draw()
    assert len(TaskSpace("x", people, (), (three,), (Task(three, people),)).draw()) == 1


def test_scenarios_by_name_and_names_of_their_own() -> None:
    space = bundled_tasks.space()
    assert [one.name for one in space.only(("drum_kit", "used_bicycle")).scenarios] == ["drum_kit", "used_bicycle"]
    with pytest.raises(InputError, match="no scenario 'drumkit': did you mean 'drum_kit'"):
        space.only(("drumkit",))
    one = replace(space, tasks=(space.draw()[0],))
    with pytest.raises(
        InputError, match=f"no task is stated for scenario 'drum_kit', only for {one.tasks[0].scenario.name};"
    ):
        one.only(("drum_kit",))
    with pytest.raises(InputError, match="x: two scenarios are called 's'"):
        TaskSpace("x", scenarios=(scenario(Relationship.FRIEND),) * 2)


def test_the_digest_tells_what_is_played() -> None:
    space = bundled_tasks.space()
    other = replace(space, characters=(replace(space.characters[0], secret="x"), *space.characters[1:]))
    assert space.digest() == replace(space, place="elsewhere", notes=("n",)).digest() != other.digest()
