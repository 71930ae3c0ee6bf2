"""A form for people."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.files.textfile import BOM
from apportion.corpus.session import Background, Session, Turn
from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.episodes import ReadEpisode
from apportion.environments.sotopia.evaluation.human_ratings.log import RatedKey
from apportion.environments.sotopia.evaluation.human_ratings.sheet import (
    ASKED,
    PARTLY,
    as_text,
    asked_line,
    labelled,
    read_sheet,
    sheet,
    sign_of,
)
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, DimensionScore
from apportion.foundation.errors import InputError
from tests.environments.sotopia.evaluation.test_episodes import session


def episode(name: str = "Ann", session_id: str = "s") -> ReadEpisode:
    turns = (Turn(0, name, "Hi"), Turn(1, "Bob", "Hello"))
    goals = (Background(name, "goal", "Win"), Background("Bob", "goal", "Win"))
    return ReadEpisode.of(Session(session_id, turns, backgrounds=goals))


def blank(episodes: list[ReadEpisode]) -> str:
    assert sheet(episodes).startswith(BOM)
    return sheet(episodes).removeprefix(BOM)


def filled(path: Path, change: Callable[[dict[str, str]], object], one: ReadEpisode | None = None) -> Path:
    rows = list(csv.DictReader(io.StringIO(blank([one or episode()]), newline="")))
    for row in rows:
        change(row)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_blank_form_has_a_row_for_each_dimension_of_each_and_gives_nothing(tmp_path: Path) -> None:
    text = blank([episode(), episode(session_id="t-base@model")])
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["dimension"] for row in rows] == [*DIMENSIONS] * 4 and "model" not in text
    assert {row["session"] for row in rows} == {sign_of("s"), sign_of("t-base@model")}
    assert read_sheet(filled(tmp_path / "a.csv", lambda row: None), "ann", [episode()]) == {}


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: name != "Bob"))
def test_what_is_filled_in_is_read_and_no_name_is_a_formula(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    path, one = tmp_path_factory.mktemp("sheet") / "a.csv", episode(name)
    for row in csv.reader(io.StringIO(blank([one]), newline="")):
        assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in row)
        assert not row[1].startswith("-")
    ratings = read_sheet(filled(path, lambda row: row.update(score="0", reasoning=" so "), one), "ann", [one])
    assert ratings == {
        RatedKey("ann", "s", target, dimension): DimensionScore(0, "so")
        for target in (name, "Bob")
        for dimension in DIMENSIONS
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": "7.5"}, r"line 2: BEL has the score '7.5'; a whole number from 0 to 10 is needed"),
        ({"score": "seven"}, "BEL has the score 'seven'"),
        ({"score": "1_0"}, "BEL has the score '1_0'"),
        ({"reasoning": "why"}, "BEL has reasoning and no score"),
        ({"session": "episode-1"}, "no session 'episode-1'; the corpus has 1 that can be rated"),
        ({"person": "An"}, "nobody in it is called 'An'; there are 'Ann', 'Bob'"),
        ({"dimension": "BLE"}, "no dimension 'BLE'; did you mean 'BEL'"),
        ({"low": "1"}, "BEL goes from 0 to 10, and this row says '1' to '10'"),
        ({"dimension": "REL", "low": "-5", "high": "5"}, "line 3: REL of 'Ann' is there twice"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_and_nothing_is_taken(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    first = [True]

    def spoil(row: dict[str, str]) -> None:
        row["score"] = "0"
        if first.pop() if first else False:
            row.update({"score": "", **change} if "reasoning" in change else change)

    with pytest.raises(InputError, match=message):
        read_sheet(filled(tmp_path / "a.csv", spoil), "ann", [episode()])


def test_many_mistakes_are_counted_and_files_that_are_no_form_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.csv", lambda row: row.update(score="99"))
    with pytest.raises(
        InputError, match=r"14 of its rows cannot be used, so nothing was taken:(\n.*){10}\n  and 4 more"
    ):
        read_sheet(path, "ann", [episode()])
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column 'session'"):
        read_sheet(path, "ann", [episode()])
    with pytest.raises(InputError, match=r"none\.csv"):
        read_sheet(tmp_path / "none.csv", "ann", [episode()])


def test_a_form_that_a_spreadsheet_has_saved_in_its_way_is_read(tmp_path: Path) -> None:
    path = filled(
        tmp_path / "a.csv", lambda row: row.update(score="0.0", low=f"{row['low']}.0", high=f"{row['high']}.0")
    )
    path.write_bytes(BOM.encode() + path.read_bytes())
    assert len(read_sheet(path, "ann", [episode()])) == 14


def test_each_dimension_is_asked_with_its_range() -> None:
    assert tuple(ASKED) == DIMENSIONS
    for name, (low, high) in RANGES.items():
        assert f", {low:g} to {high:g} (" in asked_line(name)


TEXT = st.text(st.characters(exclude_categories=()), min_size=1)


def test_it_has_everything_and_not_who_played() -> None:
    lines = dict(labelled(ReadEpisode.of(session("Hi"))))
    assert lines["Scenario: "] == "A market" and lines["Ann, goal: "] == "Win" and lines["Bob, goal: "] == "Leave"
    assert lines["#1 Ann: "] == "Hi" and lines["#2 Bob [physical action] "] == "waves" and lines[""] == PARTLY
    assert "#1 Ann leaves" in dict(labelled(ReadEpisode.of(session("[leave] left the conversation"))))


@given(TEXT, TEXT.filter(lambda name: name != "Bob"), TEXT, TEXT)
def test_no_text_moves_the_terminal_or_begins_where_labels_do(words: str, name: str, goal: str, known: str) -> None:
    text = as_text("episode-1", ReadEpisode.of(session(words, name, goal, known)))
    assert all(letter.isprintable() or letter in "\n\u200c\u200d" for letter in text)
    begins = [line.split()[0] for line in text.splitlines() if line.startswith("#")]
    assert {"#1", "#2", "#3"} <= set(begins)
