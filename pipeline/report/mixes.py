"""What each mix gave its sources, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from apportion.foundation.html.text import clean, number
from apportion.foundation.tables.grid import Grid

HEADER = ("Source", "Weight", "R² of left-out scores", "Training sessions", "Why")


def mixes(sources: pa.Table | None) -> list[Grid]:
    """A table a method, titled by it and by its seeds where they differ; seeds that say the same are shown once."""
    found: dict[str, dict[int, list[tuple[str, ...]]]] = {}
    for row in [] if sources is None else sources.to_pylist():
        found.setdefault(str(row["method"]), {}).setdefault(int(row["seed"]), []).append(_row(row))
    shown = []
    for method, by_seed in found.items():
        first, *others = by_seed.values()
        alike = all(rows == first for rows in others)
        for seed, rows in list(by_seed.items())[: 1 if alike else None]:
            name = clean(method, 60)
            shown.append(Grid(f"Sources of {name}" + ("" if alike else f", seed {seed}"), HEADER, tuple(rows)))
    return shown


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        clean(str(row["source"]), 60),
        number(row["weight"]) + _interval(row["low"], row["high"]),
        number(row["explained"]) + _interval(row["explained_low"], row["explained_high"]),
        f"{row['sessions']:,}",
        clean(str(row["reason"]), 300),
    )


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{number(low)}, {number(high)}]"
