"""What is usual for one person in one session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Baseline:
    """Mean and standard deviation of a feature over a person's utterances, in the feature's unit."""

    mean: float
    sd: float

    def distance(self, value: float) -> float:
        """How far ``value`` is from usual, in standard deviations."""
        return (value - self.mean) / self.sd


@dataclass(frozen=True)
class Measure:
    """One row of ``utterance_features``: mean in the feature's unit, None where unobserved; coverage 0 to 1."""

    mean: float | None
    coverage: float


def baselines(utterances: Sequence[Mapping[str, Measure]], fewest: int) -> dict[str, Baseline]:
    """The baseline of every feature seen in at least ``fewest`` utterances that are not all alike.

    ``utterances`` holds the usable measures of one utterance each, by feature. The standard deviation is the
    sample's (n - 1), so that few utterances do not make everything look remarkable.
    """
    values: dict[str, list[float]] = {}
    for utterance in utterances:
        for feature, measure in utterance.items():
            if measure.mean is not None:
                values.setdefault(feature, []).append(measure.mean)
    usual = {}
    for feature, seen in values.items():
        # A spread that is only rounding would make everything remarkable.
        if len(seen) >= fewest and (sd := float(np.std(seen, ddof=1))) > 1e-9 * max(1.0, abs(float(np.mean(seen)))):
            usual[feature] = Baseline(float(np.mean(seen)), sd)
    return usual
