from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.reports.episode_scores import OVERALL, TaskId
from apportion.environments.sotopia.reports.hard_tasks import difficulties, hard_tasks, played_space
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import TaskSpace
from apportion.environments.sotopia.sources.task_file import read_task_file, written
from apportion.foundation.errors import InputError
from tests.environments.sotopia.reports.made import Made, every, read

WORDS = ("bicycle", "drum kit")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hard") / "play"
    write_corpus(SimulationChoice(agents=("conceding", "random"), scenarios=("used_bicycle", "drum_kit"), pairs=3), out)
    return out


def test_the_choice_is_a_file_that_can_be_played(played: Path, tmp_path: Path) -> None:
    hard = hard_tasks(read(played), "random", "GOAL", 4)
    assert hard.played == 6, "an episode in which somebody is silent is one of the same task"
    space = played_space(hard, [played], TaskSpace("nowhere"), "hard-for-random")
    file = tmp_path / "hard.toml"
    file.write_text(written(space))
    again = read_task_file(file)
    assert again.named == "hard-for-random" and again.exact
    assert [TaskId.of(task) for task in again.tasks] == [one.task for one in hard.chosen]
    by_name = {(task.scenario.name, *(one.name for one in task.characters)): task for task in bundled_tasks.tasks()}
    for task in again.tasks:
        ours = by_name[(task.scenario.name, *(one.name for one in task.characters))]
        assert (task.scenario, task.characters) == (ours.scenario, ours.characters)


def test_tasks_without_a_log_are_found_in_a_task_space(played: Path, tmp_path: Path) -> None:
    hard = hard_tasks(read(played), "random", "GOAL", 2)
    space = played_space(hard, [tmp_path], bundled_tasks.space(), "mine")
    assert [TaskId.of(task) for task in space.tasks] == [one.task for one in hard.chosen]
    assert all({*pair.between} <= {one.name for one in space.characters} for pair in space.relationships)


def hand_made(folder: Path) -> Path:
    made = Made()
    for number in range(3):
        for agents in (("m", "n"), ("n", "m")):
            made.episode(agents, ({"j": every(0.2)}, {"j": every(0.2 + number / 10)}), scenario=f"Place {number}")
    return made.write(folder)


def test_overall_is_the_reward_where_all_seven_are_rated(tmp_path: Path) -> None:
    hard = hard_tasks(read(hand_made(tmp_path / "c")), "m", OVERALL, 3)
    assert [one.task.scenario for one in hard.chosen] == ["Place 2", "Place 1", "Place 0"]


@pytest.mark.parametrize(
    ("target", "dimension", "count", "message"),
    [
        ("mm", "GOAL", 1, r"no model 'mm' in these episodes: did you mean 'm'\?"),
        ("m", "GOAL", 4, "4 tasks are asked for, and judge 'j' rated 'm' in GOAL in 3"),
    ],
)
def test_what_cannot_be_chosen_is_told(tmp_path: Path, target: str, dimension: str, count: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        hard_tasks(read(hand_made(tmp_path / "c")), target, dimension, count)


def test_where_no_models_are_told_there_is_no_choice(tmp_path: Path) -> None:
    made = Made()
    made.episode(("", ""), ({"j": every(0.2)}, {}))
    with pytest.raises(InputError, match="no model 'm' in these episodes: no episode tells which models played it"):
        hard_tasks(read(made.write(tmp_path / "c")), "m", "GOAL", 1)


def test_tasks_that_nobody_has_cannot_be_written(tmp_path: Path) -> None:
    corpus = hand_made(tmp_path / "c")
    hard = hard_tasks(read(corpus), "m", "GOAL", 2)
    with pytest.raises(
        InputError, match=r"2 of the 2 tasks are neither in a log .* 'Place 2', 'Place 1'\. Name the task"
    ):
        played_space(hard, [corpus], bundled_tasks.space(), "mine")


@pytest.mark.parametrize("named", ["sotopia-hard", "savoir-hard", "stackelberg"])
def test_no_choice_is_called_as_a_published_set(played: Path, named: str) -> None:
    with pytest.raises(InputError, match=f"'{named}' is the name of a set that is something else"):
        played_space(hard_tasks(read(played), "random", "GOAL", 1), [played], bundled_tasks.space(), named)


def test_two_that_differ_under_one_name_are_refused(played: Path, tmp_path: Path) -> None:
    """A character that is called as a bundled one and is not it, in a file of tasks."""
    hard = hard_tasks(read(played), "random", "GOAL", 6)
    bicycle, drums = (
        {n for one in hard.chosen if word in one.task.scenario for n, _ in one.task.people} for word in WORDS
    )
    both = min(bicycle & drums)
    space = bundled_tasks.space()
    occupation = next(one.occupation for one in space.characters if one.name == both)
    text = written(space).replace(f'"{occupation}"', '"baker"')
    file = tmp_path / "other.toml"
    file.write_text(text)
    other = read_task_file(file)
    log_without_half = tmp_path / "half"
    log_without_half.mkdir()
    lines = (played / "episodes.jsonl").read_text().splitlines()
    (log_without_half / "episodes.jsonl").write_text("\n".join(one for one in lines if "used_bicycle" in one) + "\n")
    with pytest.raises(InputError, match=f"two characters are called '{both}' and differ"):
        played_space(hard, [log_without_half], other, "mine")


GOAL = (0.0, 10.0)


def task(name: str) -> TaskId:
    return TaskId(name, ())


def test_of_equal_gaps_the_lower_mean_is_harder_then_the_words() -> None:
    table = {task(name): {"t": rewards} for name, rewards in (("b", [0, 10]), ("c", [0, 9]), ("a", [0, 10]))}
    found = difficulties(table, "t", GOAL)
    assert [one.gap for one in found] == [10, 10, 10] and [one.task.scenario for one in found] == ["c", "a", "b"]


rewards = st.lists(st.integers(0, 10), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.dictionaries(st.sampled_from("tmn"), rewards), max_size=6))
def test_the_rule_is_section_7s(table: dict[str, dict[str, list[int]]]) -> None:
    found = difficulties({task(name): its for name, its in table.items()}, "t", GOAL)
    assert {one.task.scenario for one in found} == {name for name, its in table.items() if "t" in its}
    for one in found:
        its = table[one.task.scenario]
        most = max(min(np.mean(x) + 3 * np.std(x), 10) for x in its.values())
        least = max(np.mean(its["t"]) - 3 * np.std(its["t"]), 0)
        assert one.gap == pytest.approx(most - least) and one.most == pytest.approx(most) and one.gap >= -1e-9
        assert min(np.mean(its[one.best]) + 3 * np.std(its[one.best]), 10) == pytest.approx(most)
        assert (one.least, one.own) == (pytest.approx(least), len(its["t"]))
    assert [one.gap for one in found] == sorted((one.gap for one in found), reverse=True)
