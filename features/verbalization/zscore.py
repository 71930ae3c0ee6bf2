"""What was observed of one person in one window, beside what is usual for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from apportion.features.settings import DescriptorThresholds


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


@dataclass(frozen=True)
class NormalizedFeature:
    """One person in one window.

    ``measures`` holds only what was observed well enough; ``usual`` the person's baselines by feature; ``hidden`` says
    that the face, which was seen elsewhere in the session, was not seen here; ``detector`` is the back-end that found
    the face (None where that is not known); ``length_s`` is the window's length, infinite where looks are not counted;
    ``speaks`` says that the person has the floor; ``said`` counts what they said meanwhile (`apportion.features.talk`).
    """

    measures: Mapping[str, Measure]
    usual: Mapping[str, Baseline]
    hidden: bool = False
    detector: str | None = None
    length_s: float = math.inf
    speaks: bool = False
    said: Mapping[str, int] = field(default_factory=dict)

    def mean(self, name: str) -> float | None:
        """The mean of a feature in its unit, None where it was not observed."""
        measure = self.measures.get(name)
        return None if measure is None else measure.mean

    def distance(self, name: str) -> float | None:
        """How far a feature is from usual, in standard deviations; None where either is unknown."""
        mean = self.mean(name)
        return None if mean is None or name not in self.usual else self.usual[name].distance(mean)

    def remarkable_change(self, name: str, smallest: float, smallest_sd: float) -> float | None:
        """Difference of a feature from usual in its unit; 0 where it is too small to tell, None where unknown.

        Both bounds have to be reached: with a tiny spread a single picture is many standard deviations.
        """
        mean, distance = self.mean(name), self.distance(name)
        if mean is None or distance is None:
            return None
        change = mean - self.usual[name].mean
        return change if abs(change) >= smallest and abs(distance) >= smallest_sd else 0.0

    def unknown_share(self, thresholds: DescriptorThresholds) -> float:
        """The share of the window that may have been otherwise than all looks tell: one step from look to look.

        What begins or ends in a window does so between two looks, and those at its two ends lie up to half a step
        inside it. In a turn of two seconds that is a fifth of the time with eyes that are looked at 2.5 times a second.
        """
        return thresholds.frame_s / self.length_s if self.length_s > 0 else 1.0

    def looked_at_enough(self, thresholds: DescriptorThresholds) -> bool:
        """Whether so many looks fit into the window that what all of them lack was hardly there."""
        return self.length_s + 1e-9 >= thresholds.min_frames * thresholds.frame_s

    def while_seen(self, name: str, thresholds: DescriptorThresholds) -> str:
        """What a statement about the whole window has to add where the face was not seen all of the time."""
        measure = self.measures[name]
        return "" if measure.coverage >= thresholds.min_coverage else " while seen"


def beside_usual(change: float | None) -> str:
    """What a statement of how much adds about what is usual, such as ``, more than usual``; nothing where unknown."""
    if change is None:
        return ""
    return ", as usual" if change == 0 else ", more than usual" if change > 0 else ", less than usual"
