"""Files of tasks: what is read, what is refused, and that what is written is read back."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.serialization import bundled_task, is_bundled, task_of, task_record
from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace, used_by
from apportion.environments.sotopia.sources.task_file import read_task_file, task_space, written
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json

FILE = """
[[character]]
name = "Ann"
age = 30
[[character]]
name = "Bob"
age = 60
[[relationship]]
between = ["Ann", "Bob"]
kind = "friend"
[[scenario]]
name = "yard"
context = "A yard."
goals = ["a", "b"]
relationship = "friend"
ages = [[18, 70], [18, 70]]
"""
TASK = '[[task]]\nscenario = "yard"\ncharacters = ["Ann", "Bob"]\n'


def test_what_comes_with_the_project_is_written_and_read_back() -> None:
    space = bundled_tasks.space()
    assert task_space(written(space), "bundled") == space
    drawn = used_by(space, bundled_tasks.tasks(seed=4))
    assert task_space(written(drawn, ("a comment", "")), "bundled") == drawn


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)


@given(texts, texts, texts, st.sampled_from(Relationship))
def test_any_text_is_read_back(context: str, goal: str, secret: str, relationship: Relationship) -> None:
    people = (Character("Ann", 30, secret=secret), Character("Bo", moral_values=(secret, goal)))
    scenario = Scenario("s", context, (goal, goal), relationship, occupations=((goal,), ()), source=context)
    space = TaskSpace("x", people, (KnownPair(("Ann", "Bo"), relationship, secret),), (scenario,))
    assert task_space(written(space), "x") == space


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[task]", r"f.toml: not TOML"),
        (FILE + "[[scenaro]]\nname = 1\n", "scenaro: unknown key"),
        (FILE.replace("age = 30", "age = -1"), "character 1: age = -1"),
        (FILE.replace('name = "Ann"', 'name = "A[b]"'), r"character 1: character 'A\[b\]'"),
        (FILE.replace('name = "Bob"', 'name = "Ann"'), "two characters are called 'Ann'"),
        (FILE.replace('"Bob"]', '"Bobo"]'), "a relationship of 'Bobo', who is no character here: did you mean 'Bob'"),
        (FILE.replace('"Bob"]', '"Ann"]'), "relationship 1: a relationship of 'Ann' with the same name"),
        (FILE.replace('kind = "friend"', 'kind = "foe"'), "relationship 1: relationship 'foe': there are stranger"),
        (FILE.replace('["a", "b"]', '["a", " "]'), "scenario 1: scenario 'yard': the goal of agent 2 is empty"),
        (FILE.replace('["a", "b"]', '["a"]'), "ages has 2 values for 1 goals"),
        (FILE.replace('goals = ["a", "b"]\n', 'goals = ["a"]\n').replace("ages =", "# "), "1 goals; every agent has"),
        (FILE.replace('"yard"', '"../yard"'), "scenario 1: name = '../yard'"),
        (FILE + 'keep = [["x"]]\n', "keep has 1 values for 2 goals"),
        (FILE + 'keep = [["x", " "], []]\n', "scenario 1: keep: a phrase of agent 1 is empty"),
        ('[[character]]\nname = "a"\nsecret_words = [""]\n', "character 'a': a phrase of secret_words is empty"),
        (FILE + "price = { worst = [1, 2, 3], best = [1, 2] }\n", "price.worst has 3 values for 2 goals"),
        (FILE + 'time = { worst = ["1", "2"], best = ["19:00", "18:00"] }\n', "time.worst.0 = '1'"),
        (
            FILE + "price = { worst = [1, 2], best = [2, 1] }\nsplit = { counts = { a = 1 }, values = [[1], [1]] }\n",
            "more than one of price, time and split",
        ),
        (FILE + TASK.replace("yard", "yrd"), "task 1: no scenario 'yrd' here; did you mean 'yard'"),
        (FILE + TASK.replace('"Bob"]', '"Bib"]'), "task 1: no character 'Bib' here; did you mean 'Bob'"),
        (FILE + TASK.replace('"Bob"]', '"Ann"]'), "task 1: scenario 'yard': two characters are called 'Ann'"),
        (FILE + TASK.replace(', "Bob"]', "]"), "task 1: scenario 'yard': 1 characters for 2 goals"),
        (FILE.replace("[18, 70]]", "[18, 25]]") + TASK, "agent 2, Bob, is 60; allowed are 18 to 25"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_space(text, "f.toml")


@pytest.mark.parametrize(
    "line",
    ['secret = ["CANARY"]', 'secret_words = "CANARY"', "[[scenario]]\ngoals = { a = 'CANARY' }\nkeep = 'CANARY'"],
)
def test_what_is_hidden_stands_in_no_error(line: str) -> None:
    with pytest.raises(InputError, match=r"character 1: secret|scenario 1: goals") as told:
        task_space(f'[[character]]\nname = "Ann"\n{line}\n', "f.toml")
    assert "CANARY" not in str(told.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"none.toml: cannot be read as text"):
        read_task_file(tmp_path / "none.toml")
    path = tmp_path / "f.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"f.toml: cannot be read as text"):
        read_task_file(path)
    monkeypatch.setattr("apportion.environments.sotopia.sources.task_file.LARGEST", 1)
    with pytest.raises(InputError, match="2 bytes; a file of tasks has at most 1"):
        read_task_file(path)


TASKS = bundled_tasks.tasks()


def test_every_bundled_task_comes_back_from_its_record() -> None:
    """Through the log's own JSON, which sorts keys: counts of things are in an order that offers depend on."""
    for task in TASKS:
        back = task_of(json.loads(canonical_json(task_record(task))))
        assert back == task
        deal, again = (one.scenario.terms and one.scenario.terms.deal for one in (task, back))
        if deal is not None and hasattr(deal, "counts"):
            assert list(deal.counts) == list(again.counts)


def test_ages_occupations_and_relationships_of_three_come_back() -> None:
    people = bundled_tasks.characters()[:3]
    scenario = replace(
        TASKS[0].scenario,
        goals=("a", "b", "c"),
        ages=((18, 30), (0, 99)),
        occupations=((), ("baker", "cook")),
        terms=None,
    )
    pair = frozenset((people[0].name, people[2].name))
    task = Task(scenario, people, {pair: Relationship.KNOW_BY_NAME})
    assert task_of(json.loads(canonical_json(task_record(task)))) == task


def test_names_are_enough_for_bundled_tasks_alone() -> None:
    task = TASKS[0]
    assert is_bundled(task) and bundled_task(task.scenario.name, tuple(c.name for c in task.characters)) == task
    assert not is_bundled(replace(task, scenario=replace(task.scenario, goals=("other", "goals"))))
    assert bundled_task("nowhere", ("Ann", "Bob")) is None
    assert bundled_task(task.scenario.name, ("Ann", "Bob")) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda record: record.pop("characters"), "no record of a task: KeyError"),
        (lambda record: record["scenario"].update(relationship="enemies"), "no record of a task: KeyError"),
        (lambda record: record["scenario"].update(goals=["", ""]), "the goal of agent 1 is empty"),
        (lambda record: record["scenario"].update(ages=[[1]]), "no record of a task: ValueError"),
        (lambda record: record["characters"].pop(), "1 characters for 2 goals"),
    ],
)
def test_what_is_no_task_is_told(change, told: str) -> None:
    record = task_record(TASKS[0])
    change(record)
    with pytest.raises(InputError, match=told):
        task_of(record)
    with pytest.raises(InputError, match="no record of a task"):
        task_of(["no", "task"])


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
