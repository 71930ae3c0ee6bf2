"""Counts nods and shakes by crossings of the head's path, for every detector but `mesh` (see `mesh/nods.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Span
from apportion.foundation.arrays import Floats

FEWEST_SAMPLES = 4
Axis = Literal["x", "y"]


@dataclass(frozen=True)
class HeadTrajectory:
    """Where one head was: ``times_s`` [F], ``x`` and ``y`` [F] float64 in face heights, of one followed face."""

    times_s: Floats
    x: Floats
    y: Floats


def swings(paths: Sequence[HeadTrajectory], axis: Axis, settings: FeatureSettings) -> tuple[Span, ...]:
    """Stretches in which a head goes to and fro along ``axis``, seconds, in order; those that touch are joined.

    A sliding window has one where the position crosses its middle at least ``nod_crossings`` times and its range is
    above ``nod_range`` (LLM-GELI section 5.1: zero crossings >= 2 and scaled face range > 0.1). The paper leaves open
    over what: over a whole clip everything nods, so we use windows and count events. Added by us, each with a setting
    that switches it off: a dead band against jitter, and the movement must be mainly along that axis.
    """
    events: list[Span] = []
    for path in paths:
        along, across = (path.x, path.y) if axis == "x" else (path.y, path.x)
        for first, last in _windows(path.times_s, settings):
            event = _event(path.times_s[first:last], along[first:last], across[first:last], settings)
            events += [event] if event else []
    return join(events)


def crossings(values: Floats, dead_band: float) -> list[tuple[int, int]]:
    """Where ``values`` [F] cross their middle (half-way from minimum to maximum): (last index before, first after).

    A side is reached once the value is ``dead_band`` times the range beyond the middle, so that noise around the
    middle makes no crossings.
    """
    if not len(values):
        return []
    low, high = float(values.min()), float(values.max())
    middle, margin = (low + high) / 2, dead_band * (high - low)
    crossed, side, before = [], 0, 0
    for index, value in enumerate(values):
        now = 1 if value > middle + margin else -1 if value < middle - margin else 0
        if now and side and now != side:
            crossed.append((before, index))
        if now:
            side, before = now, index
    return crossed


def join(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Overlapping or touching spans joined, in order."""
    joined: list[Span] = []
    for start_s, end_s in sorted(spans):
        if joined and start_s <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end_s))
        else:
            joined.append((start_s, end_s))
    return tuple(joined)


def _event(times_s: Floats, along: Floats, across: Floats, settings: FeatureSettings) -> Span | None:
    """The stretch of a window that crosses the middle along one axis, None where that is no nod."""
    reach = float(np.ptp(along))
    if reach <= settings.nod_range or reach < settings.nod_axis_ratio * float(np.ptp(across)):
        return None
    crossed = crossings(along, settings.nod_hysteresis)
    if len(crossed) < settings.nod_crossings:
        return None
    return float(times_s[crossed[0][0]]), float(times_s[crossed[-1][1]])


def _windows(times_s: Floats, settings: FeatureSettings) -> Iterable[tuple[int, int]]:
    """Index ranges of the sliding windows; also a path shorter than one window is looked at, as a whole."""
    if not len(times_s):
        return
    start_s, last_start_s = float(times_s[0]), max(float(times_s[0]), float(times_s[-1]) - settings.nod_window_s)
    for step in range(int((last_start_s - start_s) / settings.nod_hop_s) + 2):
        begin_s = min(start_s + step * settings.nod_hop_s, last_start_s)
        first = int(np.searchsorted(times_s, begin_s, side="left"))
        last = int(np.searchsorted(times_s, begin_s + settings.nod_window_s, side="right"))
        if last - first >= FEWEST_SAMPLES:
            yield first, last


@dataclass(frozen=True)
class HeadEvents:
    """Nods (``yes``) and shakes (``no``): seconds, in order; each from before its first to after its last crossing.

    ``single`` are nods of one dip, no part of any other; None where the back-end does not tell them.
    """

    yes: tuple[Span, ...]
    no: tuple[Span, ...]
    single: tuple[Span, ...] | None = None

    @property
    def by_feature(self) -> dict[str, tuple[Span, ...]]:
        """Nods and shakes by the name of their feature."""
        told = {"nod_yes": self.yes, "nod_no": self.no}
        return told if self.single is None else {**told, "nod_single": self.single}


def head_events(paths: Sequence[HeadTrajectory], settings: FeatureSettings) -> HeadEvents:
    """All nods (swings of the head's height) and shakes (swings to the side) in the paths of a person's head."""
    return HeadEvents(yes=swings(paths, "y", settings), no=swings(paths, "x", settings))
