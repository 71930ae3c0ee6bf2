"""What people have rated."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Background, Session, Turn
from apportion.environments.sotopia.evaluation.human_ratings.credit_form import (
    FAIRNESS,
    FOUNDATION,
    STRATEGICNESS,
    CreditStudy,
)
from apportion.environments.sotopia.evaluation.human_ratings.log import (
    KEPT,
    RatedKey,
    RatingLog,
    check_annotator,
    raters_in,
)
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, DimensionScore
from apportion.foundation.errors import InputError

WORDS = st.text(st.characters(codec="utf-8"))
KEYS = st.builds(RatedKey, WORDS, WORDS, WORDS, st.sampled_from(DIMENSIONS))
GIVEN = st.builds(DimensionScore, st.just(0), WORDS) | st.builds(DimensionScore, st.none(), st.just(""), WORDS)
KEY = RatedKey("ann", "s", "Bob", "GOAL")


@given(st.lists(st.dictionaries(KEYS, GIVEN, max_size=3), max_size=3))
def test_what_is_added_is_there_and_later_ones_win(
    tmp_path_factory: pytest.TempPathFactory, added: list[dict[RatedKey, DimensionScore]]
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    kept = RatingLog.open(folder)
    for ratings in added:
        kept.add(ratings)
    assert RatingLog.open(folder).given == kept.given == {k: v for ratings in added for k, v in ratings.items()}


@given(st.integers(0, 400))
def test_a_kill_while_writing_costs_no_more_than_that_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("kept")
    RatingLog.open(folder).add({KEY: DimensionScore(7, "why"), KEY._replace(dimension="SEC"): DimensionScore(-1, "ä")})
    whole = (folder / KEPT).read_bytes()
    (folder / KEPT).write_bytes(whole[:cut])
    kept = RatingLog.open(folder)
    assert len(kept.given) == whole[:cut].count(b"\n")
    kept.add({KEY: DimensionScore(3)})
    assert RatingLog.open(folder).given[KEY] == DimensionScore(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 7.5}, r"line 1: no line of a rating \(score 7.5: a whole number from 0 to 10"),
        ({"dimension": "FUN"}, "dimension 'FUN'; there are BEL"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    RatingLog.open(tmp_path).add({KEY: DimensionScore(7)})
    line = json.loads((tmp_path / KEPT).read_text())
    (tmp_path / KEPT).write_text(json.dumps(line | change) + "\n")
    with pytest.raises(InputError, match=message):
        RatingLog.open(tmp_path)
    (tmp_path / KEPT).write_text("{}\n")
    with pytest.raises(InputError, match="line 1: no line of a rating"):
        RatingLog.open(tmp_path)


@pytest.mark.parametrize("name", ["", " ", " ann", "paper@m", "rules", "a\x1b[2J"])
def test_a_name_that_is_no_persons_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="a person's name is needed"):
        check_annotator(name)
    assert check_annotator("Rater 1") == "Rater 1"


def test_who_has_rated_is_told_and_the_file_left_as_it_is(tmp_path: Path) -> None:
    assert raters_in(tmp_path) == []
    RatingLog.open(tmp_path).add({KEY: DimensionScore(7), KEY._replace(annotator="zoe"): DimensionScore(1)})
    with (tmp_path / KEPT).open("ab") as file:
        file.write(b'{"annotator": "cut')
    before = (tmp_path / KEPT).read_bytes()
    assert raters_in(tmp_path) == sorted({KEY.annotator, "zoe"}) and (tmp_path / KEPT).read_bytes() == before
    (tmp_path / KEPT).write_bytes(b"[]\n")
    with pytest.raises(InputError, match="line 1: no line of a rating"):
        raters_in(tmp_path)


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
