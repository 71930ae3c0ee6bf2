"""Files of tasks: what is read, what is refused, and that what is written is read back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace, used_by
from apportion.environments.sotopia.sources.task_file import read_task_file, task_space, written
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario
from apportion.foundation.errors import InputError

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


def test_a_file_of_tasks_is_a_task_space() -> None:
    space = task_space(FILE + TASK, "f.toml", "mine")
    (task,) = space.draw(pairs=5)
    assert [one.name for one in task.characters] == ["Ann", "Bob"] and task.scenario.source == "mine"
    assert space.relationships == (KnownPair(("Ann", "Bob"), Relationship.FRIEND),)


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
