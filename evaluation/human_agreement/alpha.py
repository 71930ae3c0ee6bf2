"""Krippendorff's alpha: how far annotators agree beyond chance, with any of them missing anywhere."""

from __future__ import annotations

from typing import Literal

import numpy as np

from apportion.foundation.arrays import Floats

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: Floats, level: Level = "nominal") -> float | None:
    """1 less observed over expected disagreement of pairs of ratings.

    Krippendorff (2011), "Computing Krippendorff's alpha-reliability", sections D and E: pairs within a unit, each unit
    weighing by its ratings less one; units with fewer than two ratings count nowhere.

    ``ratings`` float64 [shape=(U, A)]: U units (an item's response, say) by A annotators; NaN where an annotator said
    nothing. ``level``: ``nominal`` (also for yes and no), ``ordinal`` or ``interval``. Returns 1 where all agree, 0
    where they agree as by chance; None where no unit has two ratings or all of them are the same value, so that there
    is nothing that could differ.

    >>> round(krippendorff_alpha(np.array([[1, 1], [0, 0], [1, 0], [1, np.nan]])), 4)
    0.4444
    """
    known = np.isfinite(ratings)
    paired = known & (known.sum(axis=1, keepdims=True) > 1)
    values = np.unique(ratings[paired])
    if len(values) < 2:
        return None
    counts = np.stack([(np.where(paired, ratings, np.nan) == value).sum(axis=1) for value in values], axis=1)  # (U, V)
    of_unit = counts.sum(axis=1)
    counts, of_unit = counts[of_unit > 0].astype(np.float64), of_unit[of_unit > 0].astype(np.float64)
    weights = 1 / (of_unit - 1)
    coincidences = (counts * weights[:, None]).T @ counts - np.diag((counts * weights[:, None]).sum(axis=0))
    totals = coincidences.sum(axis=0)
    distances = _squared_distances(values, totals, level)
    observed = float((coincidences * distances).sum()) / float(totals.sum())
    expected = float(totals @ distances @ totals) / (float(totals.sum()) * (float(totals.sum()) - 1))
    return 1 - observed / expected


def _squared_distances(values: Floats, totals: Floats, level: Level) -> Floats:
    """Of every two of V values [shape=(V, V)]; ordinal ones lie as far apart as there are ratings between them."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    places = values if level == "interval" else np.cumsum(totals) - totals / 2
    squared: Floats = (places[:, None] - places[None, :]) ** 2
    return squared
