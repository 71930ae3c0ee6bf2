"""The log of many episodes."""

from pathlib import Path

import pytest

from apportion.environments.environment import Action, AgentAction
from apportion.environments.episode_log import EpisodeLog, check_same, read_log
from apportion.foundation.errors import InputError, UnitError

MOVES = (
    AgentAction("ann", Action("speak", "half a pair \ud83d and </done>")),
    AgentAction("bob", Action("vote", "", {"for": [1, 2]})),
)


def _written(path: Path) -> Path:
    with EpisodeLog(path) as log:
        log.begin("one", {"seed": 1})
        log.begin("two", {"seed": 2})
        log.moves("one", 0, MOVES, sync=True)
        log.end("one", {"outcome": {"ann": {"points": None}}})
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    episodes = read_log(_written(tmp_path / "log.jsonl"))
    assert list(episodes) == ["one", "two"] and episodes["one"].steps == [MOVES]
    assert episodes["one"].closing == {"outcome": {"ann": {"points": None}}} and episodes["two"].closing is None
    assert read_log(tmp_path / "none.jsonl") == {}


def test_a_line_that_a_kill_cut_off_is_dropped_and_mended(tmp_path: Path) -> None:
    path = _written(tmp_path / "log.jsonl")
    whole = path.read_bytes()
    for cut in range(len(whole) - 1, len(whole) - 40, -1):
        path.write_bytes(whole[:cut])
        assert read_log(path)["one"].steps == [MOVES] and path.stat().st_size == cut
        read_log(path, mend=True)
        assert path.read_bytes().endswith(b"\n") and path.stat().st_size < cut + 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 5"),
        ('{"episode": 3, "begin": {}}', "episode is not text"),
        ('{"episode": "two", "begin": {}}', "begins twice"),
        ('{"episode": "six", "step": 0, "acts": []}', "has not begun"),
        ('{"episode": "one", "step": 1, "acts": []}', "has ended before"),
        ('{"episode": "two", "step": 4, "acts": []}', "step 0 is expected"),
        ('{"episode": "two", "step": 0, "acts": [["ann"]]}', "an act is"),
        ('{"episode": "two"}', "step"),
        ("[]", "no line of an episode log"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = _written(tmp_path / "log.jsonl")
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    with pytest.raises(InputError, match=message) as error:
        read_log(path)
    assert "line 5" in str(error.value) and "Delete the line" in str(error.value)


def test_another_episode_of_the_same_name_is_refused(tmp_path: Path) -> None:
    one = read_log(_written(tmp_path / "log.jsonl"))["one"]
    check_same("one", one, {"seed": 1})
    with pytest.raises(UnitError, match="episode 'one': seed is 7, and 1 in the log"):
        check_same("one", one, {"seed": 7})
