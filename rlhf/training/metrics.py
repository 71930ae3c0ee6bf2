"""What a training measured, step by step: as a table, as a line, and as a checkpoint has it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from apportion.corpus.schema import HISTORY

if TYPE_CHECKING:
    from torch import Tensor


class Metrics:
    """Grows by one group of metrics a step and ends as one table."""

    def __init__(self, rows: Iterable[tuple[int, str, float]] = ()) -> None:
        self._rows = [(int(step), str(name), float(value)) for step, name, value in rows]

    @property
    def rows(self) -> tuple[tuple[int, str, float], ...]:
        """(step, metric, value) of all that was noted, in order."""
        return tuple(self._rows)

    def restore(self, rows: Iterable[tuple[int, str, float]]) -> None:
        """Replace all that was noted by what a checkpoint holds."""
        self._rows = Metrics(rows)._rows

    def add(self, step: int, metrics: Mapping[str, float]) -> None:
        """Note the metrics of one step."""
        self._rows.extend((step, name, float(value)) for name, value in metrics.items())

    def at(self, step: int) -> dict[str, float]:
        """The metrics of one step, by name."""
        return {name: value for number, name, value in self._rows if number == step}

    def table(self) -> pa.Table:
        """One row a step and metric: ``step`` (int32, from 1), ``metric``, ``value`` (float64)."""
        columns = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        schema = HISTORY.arrow
        return pa.table(
            [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of ``values`` [shape=(B, L)] over the tokens where ``mask`` is true."""
    return (values * mask).sum() / mask.sum()


PARTS = {
    "reward": "reward {:.3f}",
    "loss": "loss {:.3f}",
    "kl": "KL {:.2f}",
    "gold": "gold {:.3f}",
    "response_tokens": "{:.1f} tokens",
    "token_accuracy": "{:.0%} of the tokens foreseen",
    "entropy": "entropy {:.2f}",
    "value_loss": "value loss {:.3f}",
    "clip_fraction": "clipped {:.0%}",
}


def progress_line(algorithm: str, step: int, metrics: Mapping[str, float], samples_per_s: float) -> str:
    """One line of what the step measured; ``algorithm`` as in the settings."""
    parts = [text.format(metrics[name]) for name, text in PARTS.items() if name in metrics]
    return f"{algorithm.upper()} step {step}: {', '.join(parts)}, {samples_per_s:.1f} samples/s"


STEP, STATE = "step-", "state.json"
"""What a checkpoint's folder begins with, and the file in it."""


def measured_until(checkpoints: Path) -> dict[tuple[int, str], float]:
    """Step (from 1) and metric to value, of all steps that the newest checkpoint has behind it.

    Empty where there is none, or where it cannot be read: whoever goes on from it says so.
    """
    newest = max(checkpoints.glob(f"{STEP}*"), default=None)
    if newest is None:
        return {}
    try:
        rows = json.loads((newest / STATE).read_text(encoding="utf-8"))["history"]
        return {(int(step), str(name)): float(value) for step, name, value in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
