"""A person rates at a terminal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from apportion.environments.sotopia.evaluation.human_ratings.log import SKIPPED, RatingLog
from apportion.environments.sotopia.evaluation.human_ratings.terminal_form import HELP, MOST_WORDS, Asking, Stopped
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, DimensionScore
from apportion.environments.terminal.console import LineError, Screen
from tests.environments.sotopia.evaluation.human_ratings.test_sheet import episode


class Desk:
    """A screen at which lines are typed; an exception is raised where it stands."""

    def __init__(self, folder: Path, *lines: str | BaseException) -> None:
        self.shown: list[str] = []
        self._lines: Iterator[str | BaseException] = iter(lines)
        self.kept = RatingLog.open(folder)
        self.asking = Asking(Screen(self._typed, self.shown.append), self.kept, "ann")

    @property
    def screen(self) -> str:
        return " ".join("".join(self.shown).split())

    def _typed(self, prompt: str) -> str:
        self.shown.append(prompt)
        line = next(self._lines, KeyboardInterrupt())
        if isinstance(line, BaseException):
            raise line
        return line


def scores(desk: Desk) -> list[int | None]:
    return [given.score for given in desk.kept.given.values()]


ALL = [line for _ in range(14) for line in ("0", "so")]


def test_an_episode_is_shown_and_each_is_asked_about_in_seven_dimensions(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *ALL)
    desk.asking.all([episode()])
    assert scores(desk) == [0] * 14 and all(given.reasoning == "so" for given in desk.kept.given.values())
    assert [key.dimension for key in desk.kept.given] == [*DIMENSIONS] * 2
    assert "episode 1 of 1" in desk.screen and "#1 Ann: Hi" in desk.screen and HELP[:40] in desk.screen
    again = Desk(tmp_path)
    again.asking.all([episode()])
    assert again.shown == []


@pytest.mark.parametrize("wrong", ["7.5", "11", "-1", "seven", "", "nan", "1e400", "\x1b[2J"])
def test_what_is_no_score_is_explained_and_asked_again(tmp_path: Path, wrong: str) -> None:
    desk = Desk(tmp_path, wrong, "8", "why", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        desk.asking.all([episode()])
    assert "is no score of BEL: a whole number from 0 to 10 is needed" in desk.screen
    assert list(desk.kept.given.values()) == [DimensionScore(8, "why")] and "\x1b" not in desk.screen


def test_ctrl_c_at_any_line_keeps_what_was_confirmed_and_the_next_goes_on_there(tmp_path: Path) -> None:
    for stop in range(0, len(ALL), 5):
        folder = tmp_path / str(stop)
        folder.mkdir()
        with pytest.raises(KeyboardInterrupt):
            Desk(folder, *ALL[:stop], KeyboardInterrupt()).asking.all([episode()])
        desk = Desk(folder, *ALL[2 * (stop // 2) :])
        assert len(scores(desk)) == stop // 2
        desk.asking.all([episode()])
        assert scores(desk) == [0] * 14


def test_one_can_look_again_go_back_leave_out_and_stop(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "?", "show", "5", "", "back", "6", "better", "skip", "back", "2", "", "stop")
    with pytest.raises(Stopped):
        desk.asking.all([episode()])
    given = {key.dimension: one for key, one in desk.kept.given.items()}
    assert given == {"BEL": DimensionScore(6, "better"), "REL": DimensionScore(2)}
    assert desk.screen.count("#1 Ann: Hi") == 2 and desk.screen.count("A whole number is the score") == 2
    desk = Desk(tmp_path, "skip", "stop")
    with pytest.raises(Stopped):
        desk.asking.all([episode()])
    assert {key.dimension: one for key, one in desk.kept.given.items()}["KNO"] == DimensionScore(None, cause=SKIPPED)


def test_beside_a_score_back_asks_for_it_again_and_stop_gives_none(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "8", "back", "7", "Stop by step", "3", "stop")
    with pytest.raises(Stopped):
        desk.asking.all([episode()])
    assert [(given.score, given.reasoning) for given in desk.kept.given.values()] == [(7, "Stop by step")]


def test_back_at_the_first_question_asks_it_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "back", "5", "", "stop")
    with pytest.raises(Stopped):
        desk.asking.all([episode()])
    assert scores(desk) == [5]


def test_lines_that_are_cut_or_too_long_are_asked_again_and_the_end_of_the_input_stops(tmp_path: Path) -> None:
    desk = Desk(tmp_path, LineError("that line is no UTF-8 text"), "5", "x" * (MOST_WORDS + 1), "short", EOFError())
    with pytest.raises(Stopped):
        desk.asking.all([episode()])
    assert list(desk.kept.given.values()) == [DimensionScore(5, "short")]
    assert "no UTF-8 text" in desk.screen and "at most 4,000 are kept" in desk.screen
