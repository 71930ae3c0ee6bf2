"""What each mix gave its sources, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from apportion.pipeline.report.text import clean, number


def mixes(sources: pa.Table | None) -> list[dict[str, Any]]:
    """A table a method, titled by it and by its seeds where they differ; seeds that say the same are shown once."""
    found: dict[str, dict[int, list[dict[str, str]]]] = {}
    for row in [] if sources is None else sources.to_pylist():
        found.setdefault(str(row["method"]), {}).setdefault(int(row["seed"]), []).append(_row(row))
    shown = []
    for method, by_seed in found.items():
        first, *others = by_seed.values()
        alike = all(rows == first for rows in others)
        for seed, rows in list(by_seed.items())[: 1 if alike else None]:
            name = clean(method, 60)
            shown.append({"title": name if alike else f"{name}, seed {seed}", "rows": rows})
    return shown


def _row(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "source": clean(str(row["source"]), 60),
        "weight": number(row["weight"]),
        "weight_interval": _interval(row["low"], row["high"]),
        "explained": number(row["explained"]),
        "explained_interval": _interval(row["explained_low"], row["explained_high"]),
        "sessions": f"{row['sessions']:,}",
        "reason": clean(str(row["reason"]), 300),
    }


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{number(low)}, {number(high)}]"
