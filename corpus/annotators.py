"""Whose turn labels are: people's, or truth that was computed and that nobody judged."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

COMPUTED = "computed:"
"""How the annotator of a computed label begins; what computed it follows, as in ``computed:rollouts``."""


def is_computed(annotator: str | None) -> bool:
    """Whether nobody judged: the labels were computed."""
    return annotator is not None and annotator.startswith(COMPUTED)


def is_badly_computed(annotator: str) -> bool:
    """Whether it is meant for a computed label and names nothing, or would pass for a person's in its spelling."""
    begin, rest = annotator[: len(COMPUTED)], annotator[len(COMPUTED) :]
    return annotator.strip().casefold().startswith(COMPUTED) and (begin != COMPUTED or not rest.strip())


def peoples_labels(turn_labels: pa.Table) -> pa.Table:
    """The rows that people gave; labels without an annotator are theirs."""
    return _where(turn_labels, [not is_computed(by) for by in turn_labels["annotator"].to_pylist()])


def mean_labels(turn_labels: pa.Table) -> dict[tuple[str, int], float]:
    """What people said of each (session_id, turn), from 0 to 1: the mean of its annotators, larger is better.

    A scale counts from its ``low`` to its ``high``; of labels without these ends, from the lowest to the highest.
    ``turn_labels`` have one name.
    """
    rows = peoples_labels(turn_labels).to_pylist()
    open_ended = [row["value"] for row in rows if row["low"] is None or row["high"] is None]
    found: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        known = row["low"] is not None and row["high"] is not None
        low, high = (row["low"], row["high"]) if known else (min(open_ended), max(open_ended))
        share = (row["value"] - low) / (high - low) if high > low else 0.5
        found.setdefault((row["session_id"], row["turn"]), []).append(share)
    # Sorted, since a sum in another order has other bits.
    return {place: sum(sorted(shares)) / len(shares) for place, shares in sorted(found.items())}


def labels_in(
    turn_labels: pa.Table, sessions: Container[str], name: str | None
) -> tuple[str | None, dict[tuple[str, int], float]]:
    """`mean_labels` of some sessions under ``name``, else under the only name there; and the name, None if several."""
    within = [session_id in sessions for session_id in turn_labels["session_id"].to_pylist()]
    given = peoples_labels(_where(turn_labels, within))
    names = given["name"].to_pylist()
    name = name or (names[0] if len(set(names)) == 1 else None)
    return name, mean_labels(_where(given, [each == name for each in names]))


def thumbs(means: Mapping[tuple[str, int], float]) -> dict[tuple[str, int], bool]:
    """Whether each of `mean_labels` is above the middle of the scale, or above their mean where none is on one side.

    What is neither above nor below is left out.

    >>> thumbs({("s", 1): 0.2, ("s", 3): 0.9, ("s", 5): 0.5}), thumbs({("s", 1): 1.0, ("s", 3): 0.8})
    ({('s', 1): False, ('s', 3): True}, {('s', 1): True, ('s', 3): False})
    """
    values = sorted(means.values())
    middle = 0.5 if values and values[0] < 0.5 < values[-1] else sum(values) / max(1, len(values))
    return {place: value > middle for place, value in means.items() if abs(value - middle) > 1e-9}


def computed_labels(turn_labels: pa.Table) -> dict[tuple[str, str], pa.Table]:
    """The other rows by (annotator, name), sorted: what was computed in two ways is never one truth."""
    keys = list(zip(turn_labels["annotator"].to_pylist(), turn_labels["name"].to_pylist(), strict=True))
    computed = sorted({key for key in keys if is_computed(key[0])}, key=str)
    return {wanted: _where(turn_labels, [key == wanted for key in keys]) for wanted in computed}


def _where(table: pa.Table, kept: list[bool]) -> pa.Table:
    import pyarrow as pa

    return table.filter(pa.array(kept, pa.bool_()))
