"""Whose turn labels are: people's, or truth that was computed and that nobody judged."""

from __future__ import annotations

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


def computed_labels(turn_labels: pa.Table) -> dict[tuple[str, str], pa.Table]:
    """The other rows by (annotator, name), sorted: what was computed in two ways is never one truth."""
    keys = list(zip(turn_labels["annotator"].to_pylist(), turn_labels["name"].to_pylist(), strict=True))
    computed = sorted({key for key in keys if is_computed(key[0])}, key=str)
    return {wanted: _where(turn_labels, [key == wanted for key in keys]) for wanted in computed}


def _where(table: pa.Table, kept: list[bool]) -> pa.Table:
    import pyarrow as pa

    return table.filter(pa.array(kept, pa.bool_()))
