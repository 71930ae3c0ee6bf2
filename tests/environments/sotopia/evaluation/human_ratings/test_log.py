"""What people have rated."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
