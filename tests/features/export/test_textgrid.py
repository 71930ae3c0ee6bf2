"""TextGrids, read back by Praat's own reader (parselmouth) and by praatio."""

import itertools
from dataclasses import replace
from pathlib import Path

import parselmouth
from hypothesis import given, settings
from hypothesis import strategies as st
from parselmouth.praat import call

from apportion.corpus.session import Turn
from apportion.features.export.behaviour import session_tiers
from apportion.features.export.textgrid import render_textgrid
from apportion.features.export.tiers import Interval, Tier, make_tiers, one_line
from tests.features.export.sessions import DESCRIPTOR_TABLE, FRAME_TABLE, HOSTILE, MEANS, SESSION


def _read(path: Path) -> dict[str, list[tuple[int, int, str]]]:
    grid = parselmouth.read(str(path))
    tiers = {}
    for tier in range(1, call(grid, "Get number of tiers") + 1):
        items = range(1, call(grid, "Get number of intervals", tier) + 1)
        rows = [
            (
                round(1000 * call(grid, "Get start time of interval", tier, item)),
                round(1000 * call(grid, "Get end time of interval", tier, item)),
                call(grid, "Get label of interval", tier, item),
            )
            for item in items
        ]
        assert rows[0][0] == 0
        assert all(a[1] == b[0] for a, b in itertools.pairwise(rows))
        tiers[call(grid, "Get tier name", tier)] = [row for row in rows if row[2]]
    return tiers


def _wanted(tiers: tuple[Tier, ...] | list[Tier]) -> dict[str, list[tuple[int, int, str]]]:
    return {
        tier.name: [(i.start_ms, i.end_ms, one_line(i.label)) for i in tier.intervals if one_line(i.label)]
        for tier in tiers
    }


def test_praat_and_praatio_read_what_was_written(tmp_path: Path):
    made = session_tiers(SESSION, MEANS, DESCRIPTOR_TABLE, FRAME_TABLE, 10.0)
    (tmp_path / "a.TextGrid").write_bytes(render_textgrid(made.tiers, made.end_ms))
    assert _read(tmp_path / "a.TextGrid") == _wanted(made.tiers)
    assert parselmouth.read(str(tmp_path / "a.TextGrid")).xmax == 20.0
    from praatio import textgrid

    made = session_tiers(SESSION, MEANS, DESCRIPTOR_TABLE, FRAME_TABLE, 10.0)
    (tmp_path / "a.TextGrid").write_bytes(render_textgrid(made.tiers, made.end_ms))
    grid = textgrid.openTextgrid(str(tmp_path / "a.TextGrid"), includeEmptyIntervals=False)
    read = {t.name: [(round(1000 * a), round(1000 * b), label) for a, b, label in t.entries] for t in grid.tiers}
    assert read == _wanted(made.tiers)


def test_hostile_texts_and_overlaps(tmp_path: Path):
    turns = tuple(Turn(i, "bob" if i % 3 else text, text, float(i), i + 2.5) for i, text in enumerate(HOSTILE))
    made = session_tiers(replace(SESSION, turns=turns), None, None, None, 10.0)
    (tmp_path / "a.TextGrid").write_bytes(render_textgrid(made.tiers, 60_000))
    read = _read(tmp_path / "a.TextGrid")
    assert read == _wanted(made.tiers)
    assert {"utterance@bob", "utterance@bob 2"} <= set(read)
    found = sorted(label for rows in read.values() for _, _, label in rows)
    assert found == sorted(one_line(text) for text in HOSTILE if text.strip())


def test_the_grid_reaches_to_the_last_interval(tmp_path: Path):
    tiers = make_tiers([("a", "b", [Interval(0, 1, "x")])])
    for end_ms, xmax in ((0, 0.001), (500, 0.5)):
        (tmp_path / "a.TextGrid").write_bytes(render_textgrid(tiers, end_ms))
        assert parselmouth.read(str(tmp_path / "a.TextGrid")).xmax == xmax


LABELS = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1).filter(lambda text: bool(one_line(text)))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4_000_000), st.integers(1, 5000), LABELS), min_size=1, max_size=8))
def test_any_intervals_come_back(tmp_path_factory, items):
    tiers = make_tiers([("a", "b", [Interval(a, a + n, text) for a, n, text in items])])
    path = tmp_path_factory.mktemp("grid") / "a.TextGrid"
    path.write_bytes(render_textgrid(tiers, 0))
    assert _read(path) == _wanted(tiers)
