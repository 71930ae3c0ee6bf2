"""Praat's TextGrid."""

from __future__ import annotations

from collections.abc import Sequence

from apportion.features.export.tiers import Tier, one_line


def render_textgrid(tiers: Sequence[Tier], end_ms: int) -> bytes:
    """A TextGrid (long text format) in UTF-8 from 0 to ``end_ms``, at least to the end of the last interval.

    Time between intervals is filled with empty ones, as Praat wants it. Labels are on one line.
    """
    from praatio.utilities.textgrid_io import getTextgridAsStr

    end_ms = max([end_ms, 1, *(item.end_ms for tier in tiers for item in tier.intervals)])
    grid = {
        "xmin": 0.0,
        "xmax": end_ms / 1000,
        "tiers": [
            {
                "class": "IntervalTier",
                "name": tier.name,
                "xmin": 0.0,
                "xmax": end_ms / 1000,
                "entries": [(i.start_ms / 1000, i.end_ms / 1000, one_line(i.label)) for i in tier.intervals],
            }
            for tier in tiers
        ],
    }
    text: str = getTextgridAsStr(grid, "long_textgrid", includeBlankSpaces=True)
    return text.encode()
