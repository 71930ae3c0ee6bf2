from __future__ import annotations

import pyarrow as pa
import pytest

from apportion.corpus.annotators import computed_labels, is_computed, peoples_labels
from apportion.corpus.schema import TURN_LABELS


@pytest.mark.parametrize(
    ("annotator", "computed"),
    [("computed:rollouts", True), ("computed:", True), ("computed", False), ("ann", False), (None, False), ("", False)],
)
def test_who_labels(annotator: str | None, computed: bool) -> None:
    assert is_computed(annotator) is computed


def test_every_row_is_peoples_or_of_one_computation() -> None:
    by = ["ann", "computed:b", None, "computed:a", "computed:b", "computed:b"]
    rows = [
        {"session_id": "s", "turn": i, "annotator": who, "name": "q" if i != 5 else "r", "value": float(i)}
        for i, who in enumerate(by)
    ]
    table = pa.Table.from_pylist(rows, schema=TURN_LABELS.arrow)
    assert peoples_labels(table)["turn"].to_pylist() == [0, 2]
    found = {key: of["turn"].to_pylist() for key, of in computed_labels(table).items()}
    assert found == {("computed:a", "q"): [3], ("computed:b", "q"): [1, 4], ("computed:b", "r"): [5]}
    assert list(found) == sorted(found) and computed_labels(table.slice(0, 1)) == {}
