"""What the rater did while listening and replying, as a column a measured feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.foundation.arrays import Floats


def behaviour(features: pa.Table | None, episodes: Sequence[Episode]) -> Floats:
    """The rater's features at each target turn, one column a (window, feature), sorted.

    Parameters
    ----------
    features : pa.Table, optional
        UTTERANCE_FEATURES schema; None where nothing was recorded.

    Returns
    -------
    float64 [shape=(N, B)]
        The means over the window; NaN where a feature was not measured. B is 0 without recordings.
    """
    turns = [(e.session_id, turn, e.rating.rater) for e in episodes for turn in e.target_turns]
    if features is None or len(features) == 0:
        return np.zeros((len(turns), 0))
    rows: dict[tuple[str, int, str], list[int]] = {}
    for row, turn in enumerate(turns):  # two ratings by one rater share their turns
        rows.setdefault(turn, []).append(row)
    keys = list(zip(*(features.column(name).to_pylist() for name in ("session_id", "turn", "person")), strict=True))
    kinds = list(zip(*(features.column(name).to_pylist() for name in ("window", "feature")), strict=True))
    places = {kind: place for place, kind in enumerate(sorted(set(kinds)))}
    means = np.full((len(turns), len(places)), np.nan)
    for key, kind, mean in zip(keys, kinds, features.column("mean").to_pylist(), strict=True):
        if mean is not None and key in rows:
            means[rows[key], places[kind]] = mean
    return means
