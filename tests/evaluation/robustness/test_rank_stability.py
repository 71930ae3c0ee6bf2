import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from apportion.corpus.schema import AUDIT
from apportion.evaluation.robustness.rank_stability import stability, stability_table
from apportion.evaluation.settings import EvaluationSettings

SETTINGS = EvaluationSettings(bootstrap=200)
TITLES = {"clean": "as it is", "paraphrase": "other words", "planted-a": "planted a", "planted-b": "planted b"}


def table(judged: dict[str, dict[str, list[float | None]]], planted: dict[str, int] | None = None) -> pa.Table:
    """Judgements by perturbation and session; ``planted`` names the position of the planted turn by perturbation."""
    rows = [
        {
            "perturbation": name, "session_id": session_id, "rater": "r", "target": "t", "name": "mood",
            "turn": 2 * index + 1, "value": value, "planted": (planted or {}).get(name) == index,
        }
        for name, sessions in judged.items()
        for session_id, values in sessions.items()
        for index, value in enumerate(values)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=AUDIT.arrow)


def compared(judged, planted=None, failed=None):
    planting = [name for name in TITLES if name.startswith("planted") and name in {*judged, *(failed or {})}]
    return stability(table(judged, planted), TITLES, planting, failed or {}, SETTINGS)


CLEAN = {f"s{n}": [1.0, 2.0, 3.0, 4.0] for n in range(6)}
SWAPPED = {f"s{n}": [1.0, 2.0, 4.0, 3.0] for n in range(6)}
TURNED = {f"s{n}": [4.0, 3.0, 2.0, 1.0] for n in range(6)}


def test_the_correlation_is_spearmans_within_each_session():
    rng = np.random.default_rng(0)
    judged = {name: {f"s{n}": list(rng.integers(-5, 5, 6) * 1.0) for n in range(5)} for name in ("clean", "paraphrase")}
    expected = [spearmanr(judged["clean"][s], judged["paraphrase"][s]).statistic for s in judged["clean"]]
    (row, *_) = compared(judged).rows
    assert row.correlation.value == pytest.approx(np.mean(expected))
    assert row.correlation.low <= row.correlation.value <= row.correlation.high
    assert (row.episodes, row.correlation.sessions) == (5, 5)


def test_planted_words_that_change_more_than_a_paraphrase_are_called_so_with_the_figure():
    result = compared(
        {"clean": CLEAN, "paraphrase": SWAPPED, "planted-a": TURNED, "planted-b": CLEAN},
        {"planted-a": 0, "planted-b": 1},
    )
    rows = {row.perturbation: row for row in result.rows}
    assert rows["planted-a"].minus_paraphrase.value == pytest.approx(-1.8)
    assert rows["planted-b"].minus_paraphrase.value == pytest.approx(0.2)
    assert result.all_planted.correlation.value == pytest.approx(0.0)
    assert "by more than a paraphrase does" in result.verdict
    assert "0.000 against 0.800 (difference -0.800" in result.verdict
    assert "holds zero" not in result.verdict and "no usable" not in result.verdict


def test_planted_words_that_change_nothing_are_called_so():
    result = compared({"clean": CLEAN, "paraphrase": SWAPPED, "planted-a": CLEAN}, {"planted-a": 0})
    assert "by no more than a paraphrase does" in result.verdict
    same = compared({"clean": CLEAN, "paraphrase": CLEAN, "planted-a": CLEAN}, {"planted-a": 0})
    assert "which holds zero" in same.verdict


def test_what_happened_to_the_planted_turn():
    risen = {session_id: [5.0, 2.0, 3.0, 4.0] for session_id in CLEAN}
    (_, row, _) = compared({"clean": CLEAN, "paraphrase": CLEAN, "planted-a": risen}, {"planted-a": 0}).rows
    assert row.planted.rank.value == 3.0
    assert row.planted.value.value == 4.0
    assert (row.planted.episodes, row.planted.top_before, row.planted.top_after) == (6, 0, 6)


def test_null_counts_as_zero_and_constant_judgements_correlate_with_nothing():
    nulls = {session_id: [-1.0, None, 1.0, 2.0] for session_id in CLEAN}
    flat = {session_id: [None] * 4 for session_id in CLEAN}
    rows = compared({"clean": CLEAN, "paraphrase": nulls, "planted-a": flat}).rows
    assert [row.correlation.value for row in rows[:2]] == [pytest.approx(1.0), 0.0]


def test_planted_words_that_no_reply_survived_are_not_forgotten():
    result = compared({"clean": CLEAN, "paraphrase": CLEAN}, failed={"planted-a": 6})
    assert result.all_planted.failed == 6
    assert "No planted instruction could be compared" in result.verdict
    assert "In 6 cases there was no usable reply" in result.verdict


def test_what_cannot_be_compared_is_left_out_and_counted():
    clean = {"s0": [1.0, 2.0, 3.0], "s1": [2.0, 2.0, 2.0], "s2": [1.0, 2.0]}
    result = compared({"clean": clean, "paraphrase": clean}, failed={"paraphrase": 2})
    assert result.left_out == 2
    assert [(row.episodes, row.failed) for row in result.rows[:1]] == [(1, 2)]


@pytest.mark.parametrize("names", [("clean",), ("clean", "planted-a"), ("planted-a", "paraphrase"), ()])
def test_a_part_of_an_audit_says_what_is_missing(names):
    result = compared(dict.fromkeys(names, CLEAN), {"planted-a": 0})
    assert result.verdict.startswith("No planted") == (not {"clean", "planted-a"} <= set(names))
    if {"clean", "planted-a"} <= set(names):
        assert "no paraphrase to compare that with" in result.verdict
    assert len(stability_table(result).rows) >= 3


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=6), min_size=1, max_size=5), st.integers(0, 2))
def test_any_judgements_give_figures_within_their_bounds(values, position):
    clean = {f"s{n}": given for n, given in enumerate(values)}
    turned = {session_id: given[::-1] for session_id, given in clean.items()}
    result = compared({"clean": clean, "paraphrase": turned, "planted-a": turned}, {"planted-a": position})
    for row in result.rows:
        assert row.correlation is None or -1.0 - 1e-9 <= row.correlation.value <= 1.0 + 1e-9
        assert row.planted is None or abs(row.planted.rank.value) <= 5
    json.dumps(result.to_json(), allow_nan=False)


def test_the_table_is_markdown_with_as_many_cells_in_every_row():
    result = compared({"clean": CLEAN, "paraphrase": SWAPPED, "planted-a": TURNED}, {"planted-a": 0})
    shown = stability_table(result, ("a note",))
    lines = [line for line in shown.markdown().splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {len(shown.header) + 1}
    assert len(lines) == 2 + len(shown.rows)
    assert shown.rows[-1][0] == "all planted words"
    assert result.verdict in shown.markdown()
    assert "- a note" in shown.markdown()


@pytest.mark.parametrize(("null", "counts_as"), [("mean", 3.0), ("zero", 0.0)])
def test_a_null_counts_as_it_does_in_rewards(null, counts_as):
    changed = [{s: [2.0, 4.0, 3.0, v] for s in CLEAN} for v in (None, counts_as)]
    of_null, of_number = (
        stability(table({"clean": CLEAN, "paraphrase": one}), TITLES, [], {}, SETTINGS, null) for one in changed
    )
    assert of_null == of_number
