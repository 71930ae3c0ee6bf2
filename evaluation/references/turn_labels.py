"""Labels of single turns on the held-out target turns: people's, or those that were computed in one way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apportion.evaluation.confidence_intervals.bootstrap import Missing
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats

Integers = NDArray[np.int64]
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class TurnLabels:
    """M labels of held-out target turns; a larger value is the better end.

    - ``name``: the labels' name in ``turn_labels``.
    - ``at`` int64 [shape=(M,)]: which of the N turns each label judges.
    - ``annotator`` int64 [shape=(M,)]: who gave it, as a number; labels without an annotator count as one person's.
    - ``value`` float64 [shape=(M,)].
    - ``middle`` float64 [shape=(M,)]: the midpoint of each label's scale; the mean of all labels where scales are
      unknown or one-sided.
    - ``middle_is``: ``midpoint`` or ``mean``.
    - ``dropped``: labels of held-out sessions that sit on no target turn.
    """

    name: str
    at: Integers
    annotator: Integers
    value: Floats
    middle: Floats
    middle_is: str
    dropped: int

    def means(self, turns: int) -> tuple[Floats, Floats]:
        """The mean label of each turn, and how far it lies above the middle [shape=(N,)]; NaN without a label."""
        centred = mean_at(self.at, self.value - self.middle, turns)
        return mean_at(self.at, self.value, turns), without_rounding(centred)


def without_rounding(centred: Floats) -> Floats:
    """Distances from the middle, exactly 0 where only rounding keeps them from it."""
    return np.where(np.abs(centred) < ROUNDING, 0.0, centred)


def mean_at(at: Integers, values: Floats, turns: int) -> Floats:
    """Mean of the values that fall on each turn [shape=(M,) -> (N,)]; NaN where none does."""
    count = np.bincount(at, minlength=turns)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.bincount(at, values, minlength=turns) / count
    return mean


def read_labels(table: pa.Table | None, held: TestSet, settings: EvaluationSettings) -> TurnLabels | Missing:
    """The labels that fall on the held-out target turns.

    ``table``: rows of ``turn_labels`` of people, or of one computation; None or empty where there are none.
    """
    if table is None or table.num_rows == 0:
        return Missing("the corpus has no labels of turns by people")
    name = _label_name(table, settings.label)
    if isinstance(name, Missing):
        return name
    here = pc.is_in(table["session_id"], pa.array(held.session_ids, pa.string()))
    rows = table.filter(pc.and_(here, pc.equal(table["name"], name)))
    joined = rows.join(held.keys.select(["session_id", "turn", "at"]), ["session_id", "turn"], join_type="left outer")
    on_target = joined.filter(pc.is_valid(joined["at"]))
    if on_target.num_rows == 0:
        return Missing(f"no held-out target turn has a label {name!r}")
    ordered = on_target.sort_by([("at", "ascending"), ("annotator", "ascending"), ("value", "ascending")])
    annotator = pc.fill_null(ordered["annotator"], "").combine_chunks().dictionary_encode().indices
    value = ordered["value"].to_numpy()
    middle, middle_is = _middle(ordered, value)
    return TurnLabels(
        name=name,
        at=ordered["at"].to_numpy(),
        annotator=annotator.to_numpy().astype(np.int64),
        value=value,
        middle=middle,
        middle_is=middle_is,
        dropped=joined.num_rows - on_target.num_rows,
    )


def _label_name(table: pa.Table, wanted: str | None) -> str | Missing:
    names: list[str] = sorted(pc.unique(table["name"]).to_pylist())
    if wanted is not None:
        known = wanted in names
        return wanted if known else Missing(f"no turn labels are called {wanted!r}; there are {', '.join(names)}")
    if len(names) > 1:
        return Missing(f"turn labels of several names ({', '.join(names)}): choose one with evaluate.label")
    return names[0]


def _middle(rows: pa.Table, value: Floats) -> tuple[Floats, str]:
    """The midpoint of the scale where it has labels on both sides, else the mean label."""
    low, high = (rows[end].cast(pa.float64()).to_numpy(zero_copy_only=False) for end in ("low", "high"))
    midpoint = (low + high) / 2
    if np.isfinite(midpoint).all() and (value > midpoint).any() and (value < midpoint).any():
        return midpoint, "midpoint"
    return np.full(len(value), value.mean()), "mean"
