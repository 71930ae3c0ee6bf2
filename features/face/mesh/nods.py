"""Counts nods and shakes for the detector `mesh`, by a head's swings and turn (others: `../nods.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from apportion.features.face.nods import Axis, HeadEvents, HeadTrajectory, join
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Span
from apportion.foundation.arrays import Floats

SWING, FULL_SWING = 0.35, 0.45
"""Least size of each swing of a nod, and of the ``nod_crossings`` + 1 largest of them, in ``nod_range``: 0.045 face
heights are about 3 degrees of a head that turns about its neck (70 degrees a face height in a film of a nodding child).
Heads that speak stay below (docs/evidence/features.md)."""
LONGEST_SWING_S = 0.45
"""From one half-way to the next, and for a way itself: 1.1 Hz. Nods have 1.5 to 4.5 ways to and fro a second (Hadar et
al., 1983); what is slower is a look there and back."""
SHORTEST_SWING_S = 0.1
"""From one half-way to the next, on average: 5 Hz. No head goes faster; eyes that roll make followed points do so."""
COMES_BACK = 0.4
"""Least size of a swing in sizes of the one before it, and the other way round: a head that nods comes back. One that
sinks or is thrown back goes far one way and little the other, and what follows is another movement."""
UNDER_WAY = 0.15
"""A swing begins when this share of its way is gone, and ends when this share is left: heads rest between swings."""
TURNED_DEG = 2.0
"""Change of yaw or pitch from look to look (root mean square) from which on the pose tells the axis: the networks' own
unrest is 0.3 to 1.8 degrees."""
FEWEST_LOOKS = 3
CLEARLY, UNTOLD = 1.8, 1.66
"""Times `nod_axis_ratio` by which a path up and down outdoes the pose: five looks a second see a nod of 2.5 Hz at the
same place each time, and a head that turns slowly meanwhile would then be said to shake; and where the pose tells
nothing, as in nods of less than three looks."""
DRIFT_S = (0.5, 0.35)
"""The mean of so long is taken off a nodding head's path: heads move by themselves, too, and slower than they nod; some
fast enough to hide a nod from the longer mean. The shorter alone loses slow and small nods."""
OWN = 0.34
"""Least share of such a swing that the head went with its drift, and of the swing before it: a head that is thrown
once swings in what is left without the mean, and not in itself."""
GRID_HZ = 30.0


@dataclass(frozen=True)
class Poses:
    """Looks at one head's turn: ``times_s`` [F], ``yaw`` and ``pitch`` [F] float64 in degrees, NaN where unknown."""

    times_s: Floats
    yaw: Floats
    pitch: Floats

    def along(self, axis: Axis, span: Span, ratio: float) -> bool | None:
        """Whether the head turned more along ``axis`` than across in ``span``; None where it hardly turned at all.

        A shake has to turn ``ratio`` times as much as it tips: heads that laugh, shout or stress a word are tossed
        aside and up at once, and few of them mean no (docs/evidence/features.md).
        """
        inside = (self.times_s >= span[0]) & (self.times_s <= span[1]) & np.isfinite(self.yaw)
        if int(inside.sum()) < FEWEST_LOOKS:
            return None
        yaw, pitch = (float(np.sqrt(np.mean(np.diff(angles[inside]) ** 2))) for angles in (self.yaw, self.pitch))
        if max(yaw, pitch) < TURNED_DEG:
            return None
        return pitch >= yaw if axis == "y" else yaw > max(1.0, ratio) * pitch


def posed_events(paths: Sequence[HeadTrajectory], poses: Poses, settings: FeatureSettings) -> HeadEvents:
    """All nods and shakes in the paths of a person's head: ``nod_crossings`` + 1 swings in a row, to and fro.

    Three swings, with the default: down, up and down again; of one dip: `single_nods`. Each swing goes ``SWING`` times
    ``nod_range``, as many as are needed ``FULL_SWING`` times, takes at most ``LONGEST_SWING_S``, and comes back
    (``COMES_BACK``). The swings are those of the followed face, because the points are found too rarely for a nod of
    4 Hz and the networks' pitch moves with a mouth that speaks; which axis they belong to, the pose tells: a head that
    nods on a body that sways moves aside, too. A shake must turn ``nod_axis_ratio`` times as much as it tips. Where the
    head hardly turned (``TURNED_DEG``), the swings must go as many times as far along as across (a nod's ``UNTOLD``
    more); ``CLEARLY`` more, and they nod whatever the pose says. Nods are looked for without what the head drifts
    meanwhile (``DRIFT_S``); done for shakes, too, that calls sway a shake.
    """
    return HeadEvents(yes=_along(paths, "y", poses, settings), no=_along(paths, "x", poses, settings))


@dataclass(frozen=True)
class Swing:
    """One way, up or down: from ``start_s`` to ``end_s``, ``size`` in face heights."""

    start_s: float
    end_s: float
    size: float


def swings_in_a_row(times_s: Floats, values: Floats, smallest: float) -> Iterator[list[Swing]]:
    """Each longest row of ways to and fro, at least ``smallest`` of ``values`` [F] (face heights), fast and alike."""
    row: list[Swing] = []
    halfway_s = -np.inf
    for first, last in pairwise(turning_points(values, smallest)):
        began_s, middle_s, ended_s = _way(times_s[first : last + 1], values[first : last + 1])
        fast = ended_s - began_s <= LONGEST_SWING_S
        size = abs(float(values[last] - values[first]))
        if row and not (fast and middle_s - halfway_s <= LONGEST_SWING_S and _alike(size, row[-1].size)):
            yield row
            row = []
        row += [Swing(began_s, ended_s, size)] if fast else []
        halfway_s = middle_s
    if row:
        yield row


def _alike(first: float, second: float) -> bool:
    return min(first, second) >= COMES_BACK * max(first, second)


def _way(times_s: Floats, values: Floats) -> tuple[float, float, float]:
    """When a way from the first of ``values`` [F] to the last began, was half gone and ended, without the rests."""
    gone = (values - values[0]) / (values[-1] - values[0])
    end = int(np.argmax(gone >= 1 - UNDER_WAY))
    begin = int(np.flatnonzero(gone[:end] <= UNDER_WAY)[-1])
    climbed = np.maximum.accumulate(gone[begin : end + 1])
    began, middle, ended = np.interp((UNDER_WAY, 0.5, 1 - UNDER_WAY), climbed, times_s[begin : end + 1]).tolist()
    return began, middle, ended


def turning_points(values: Floats, smallest: float) -> list[int]:
    """Indices at which ``values`` [F] turn, peaks and valleys by turns, each ``smallest`` at least from the next."""
    turns: list[int] = []
    low = high = 0
    rising: bool | None = None
    for index, value in enumerate(values.tolist()):
        low = index if value < values[low] else low
        high = index if value > values[high] else high
        if rising is not True and value - values[low] >= smallest:
            turns.append(low)
            rising, high = True, index
        elif rising is not False and values[high] - value >= smallest:
            turns.append(high)
            rising, low = False, index
    return [*turns, high if rising else low] if turns else []


def _along(paths: Sequence[HeadTrajectory], axis: Axis, poses: Poses, settings: FeatureSettings) -> tuple[Span, ...]:
    events: list[Span] = []
    freed = [(path, path if axis == "x" else _without_drift(path, drift_s)) for path in paths for drift_s in DRIFT_S]
    for path, steady in freed:
        along, across = (steady.x, steady.y) if axis == "x" else (steady.y, steady.x)
        rows = swings_in_a_row(steady.times_s, along, SWING * settings.nod_range)
        parts = ((row, part) for row in rows for part in ([row] if axis == "x" else _own(path, steady, row)))
        for row, part in parts:
            full = sum(swing.size >= FULL_SWING * settings.nod_range for swing in part)
            if full <= settings.nod_crossings or _pace_s(part) < SHORTEST_SWING_S:
                continue
            told = poses.along(axis, _span(row), settings.nod_axis_ratio)
            times = _gone(steady.times_s, along, row) / max(_gone(steady.times_s, across, row), 1e-9)
            unsure = CLEARLY if told is False else UNTOLD if axis == "y" else 1.0
            needed = settings.nod_axis_ratio * unsure
            events += [_span(part)] if told or (times >= needed and (told is None or axis == "y")) else []
    return join(events)


def _span(row: Sequence[Swing]) -> Span:
    return row[0].start_s, row[-1].end_s


def _without_drift(path: HeadTrajectory, drift_s: float) -> HeadTrajectory:
    """``path`` on an even grid, less its mean over ``drift_s`` around a moment; at the ends its place there counts."""
    times = np.arange(path.times_s[0], path.times_s[-1], 1 / GRID_HZ) if len(path.times_s) else np.zeros(0)
    half = round(drift_s * GRID_HZ) // 2
    if not len(times):
        return HeadTrajectory(times, times, times)
    x, y = (np.interp(times, path.times_s, values) for values in (path.x, path.y))
    means = (np.convolve(np.pad(v, half, mode="edge"), np.ones(2 * half + 1), "valid") / (2 * half + 1) for v in (x, y))
    return HeadTrajectory(times, x - next(means), y - next(means))


def _own(path: HeadTrajectory, steady: HeadTrajectory, row: Sequence[Swing]) -> Iterator[list[Swing]]:
    """The parts of ``row``, found in ``steady``, whose swings the head itself made in ``path`` (`OWN`)."""
    part: list[Swing] = []
    before = 0.0
    for swing in row:
        edges = swing.start_s, swing.end_s
        went, swung = (float(np.diff(np.interp(edges, p.times_s, p.y))[0]) for p in (path, steady))
        own = went * swung > 0 and abs(went) >= OWN * abs(swung)
        if part and not (own and min(abs(went), before) >= OWN * max(abs(went), before)):
            yield part
            part = []
        part += [swing] if own else []
        before = abs(went)
    if part:
        yield part


def _pace_s(row: Sequence[Swing]) -> float:
    """Seconds from the middle of a swing to that of the next, on average of two and more."""
    first, last = ((swing.start_s + swing.end_s) / 2 for swing in (row[0], row[-1]))
    return (last - first) / (len(row) - 1)


def _gone(times_s: Floats, values: Floats, row: Sequence[Swing]) -> float:
    """How far ``values`` [F] go in a swing of ``row``, on average; a body that sways slowly adds little to it."""
    edges = np.array([(swing.start_s, swing.end_s) for swing in row])
    return float(np.abs(np.diff(np.interp(edges, times_s, values))).mean())
