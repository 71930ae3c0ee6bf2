"""The form about strategy and credit: blind, read strictly, and turned back into the ways that were compared."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from apportion.corpus.session import Background, Session, Turn
from apportion.environments.sotopia.evaluation.human_ratings.credit_form import (
    FAIRNESS,
    FOUNDATION,
    STRATEGICNESS,
    CreditStudy,
)
from apportion.foundation.errors import InputError

PEOPLE = ("=Ann", "Bob")
SESSIONS = [
    Session(
        f"bicycle-{number}-policy@mine",
        tuple(Turn(turn, PEOPLE[turn % 2], f"word {turn}\x1b[2J") for turn in range(4)),
        backgrounds=(Background(None, "scenario", "A yard."), Background("=Ann", "goal", "Sell"),
                     Background("Bob", "goal", "BUY-SECRET")),
    )
    for number in range(6)
]  # fmt: skip
SAVOIR = {(one.session_id, "=Ann"): {0: 1.0, 2: 3.0} for one in SESSIONS}
UNIFORM = {(one.session_id, "=Ann"): {0: 0.5, 2: 0.5} for one in SESSIONS}
STUDY = CreditStudy(SESSIONS, {"savoir": SAVOIR, "uniform": UNIFORM})


def filled(path: Path, *answers: str, study: CreditStudy = STUDY) -> Path:
    """The form with these answers in its first rows."""
    rows = list(csv.reader(io.StringIO(study.form().removeprefix("\ufeff"))))
    for row, answer in zip(rows[1:], answers, strict=False):
        row[-1] = answer
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def test_the_form_and_the_reading_tell_neither_who_played_nor_whose_credit_it_is() -> None:
    form, reading = STUDY.form(), STUDY.reading()
    assert form.count("\r\n") == 1 + 6 * 3 and "'=Ann" in form
    for hidden in ("savoir", "uniform", "policy@mine", "BUY-SECRET", "\x1b"):
        assert hidden not in form and hidden not in reading
    # Scales tell nothing: both go from 0 to 10, and equal rewards are all 5.
    assert "0.0" in reading and "10.0" in reading and "5.0" in reading and "goal: Sell" in reading
    letters = [STUDY.lettered(one.session_id, "=Ann")["A"] for one in SESSIONS]
    assert set(letters) == {"savoir", "uniform"} and [person for _, person in STUDY.cases] == ["=Ann"] * 6
    other = CreditStudy(SESSIONS, STUDY.rewards, seed=1)
    assert [other.lettered(one.session_id, "=Ann")["A"] for one in SESSIONS] != letters


def test_answers_come_back_as_ways_of_credit(tmp_path: Path) -> None:
    read = STUDY.read(filled(tmp_path / "a.csv", "4", "A", "tie", "", "B"), "ann")
    first, second = (STUDY.lettered(one.session_id, "=Ann") for one in SESSIONS[:2])
    assert [(one.question, one.answer) for one in read] == [
        (STRATEGICNESS, "4"), (FAIRNESS, first["A"]), (FOUNDATION, "tie"), (FAIRNESS, second["B"]),
    ]  # fmt: skip
    assert {one.annotator for one in read} == {"ann"} and read[0].person == "=Ann"
    assert STUDY.read(filled(tmp_path / "b.csv"), "bob") == []


def test_what_cannot_be_used_is_named_by_line_and_nothing_is_taken(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 of its.*\n.*line 2: strategicness has '6'; allowed are 1, 2, 3, 4, 5"):
        STUDY.read(filled(tmp_path / "a.csv", "6"), "ann")
    with pytest.raises(InputError, match=r"line 3: credit fairness has 'a'; allowed are A, B, tie"):
        STUDY.read(filled(tmp_path / "a.csv", "", "a"), "ann")
    path = filled(tmp_path / "a.csv", "4")
    text = path.read_text(encoding="utf-8")
    for change, told in (
        (text.replace("strategicness", "charm"), "no question 'charm'"),
        (text.replace("episode-", "session-"), 'nobody is asked about as "\'=Ann" in'),
        (text + text.splitlines()[1] + "\n", "is there twice; keep one"),
        (text.replace("answer", "reply", 1), "answer"),
    ):
        path.write_text(change, encoding="utf-8")
        with pytest.raises(InputError, match=told):
            STUDY.read(path, "ann")
    with pytest.raises(InputError, match="nowhere"):
        STUDY.read(tmp_path / "nowhere.csv", "ann")


def test_two_ways_of_credit_of_the_same_people_are_needed() -> None:
    with pytest.raises(InputError, match=r"1 ways of credit \(savoir\); two are compared"):
        CreditStudy(SESSIONS, {"savoir": SAVOIR})
    with pytest.raises(InputError, match="nobody has rewards by both of savoir and uniform"):
        CreditStudy(SESSIONS, {"savoir": SAVOIR, "uniform": {}})
