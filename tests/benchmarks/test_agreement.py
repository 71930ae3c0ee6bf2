"""Two viewers' agreement, and that the table of agreed moments follows from what each of them wrote down."""

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from benchmarks.agreement import DIFFER, FACES_CAMERA, agreed, intervals, kappa, questions, share_equal

TABLE = Path(__file__).resolve().parents[2] / "benchmarks" / "second_viewing.csv"
WORDS = st.sampled_from(["yes", "no", "unclear"])


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), WORDS, WORDS), min_size=1, max_size=30))
def test_kappa_is_that_of_an_independent_implementation(pairs):
    firsts, seconds = [first for _, first, _ in pairs], [second for _, _, second in pairs]
    if len(set(firsts + seconds)) == 1:
        assert math.isnan(kappa(pairs)) and share_equal(pairs) == 1.0
    else:
        assert kappa(pairs) == pytest.approx(cohen_kappa_score(firsts, seconds))


def test_intervals_hold_the_figures_and_one_clip_has_none_to_draw():
    pairs = [("a", "yes", "yes"), ("a", "no", "no"), ("b", "yes", "no"), ("b", "no", "no")]
    (low, high), _ = intervals(pairs)
    assert (low, high) == (0.5, 1.0)
    assert intervals(pairs[:2]) == [(1.0, 1.0), (1.0, 1.0)]


def test_what_viewers_tell_differently_is_marked():
    assert agreed("yes", "yes") == "yes" and agreed("yes", "unclear") == DIFFER


def test_the_table_holds_a_hundred_moments_and_what_both_say_of_them():
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len({(row["file"], row["t_s"]) for row in rows}) == len(rows) == 100
    for row in rows:
        assert row["smile"] == agreed(row["smile_first"], row["smile_second"])
        camera = (FACES_CAMERA[row["look_first"]], FACES_CAMERA[row["look_second"]])
        assert row["faces_camera"] == agreed(*camera)
    assert {len(pairs) for pairs in questions(rows).values()} == {100}
