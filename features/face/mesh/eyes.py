"""How far the eyes are open, where they point in the head, and blinks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from apportion.features.face.mesh.crop import Crop
from apportion.features.face.mesh.landmarks import LEFT_EYE, RIGHT_EYE, FacePoints
from apportion.features.face.mesh.networks import MeshNetworks
from apportion.features.media_io.video import Grey
from apportion.features.time_series import Span
from apportion.foundation.arrays import Floats

EYE_CROP = 2.3
"""The network wants a square of this many widths of the eye (MediaPipe's own)."""
CORNERS = (0, 8)
LIDS = ((3, 11), (4, 12), (5, 13))
"""Points of the lower and the upper lid that lie opposite, in the network's outline."""
STRAIGHT, LEVEL = 0.465, 0.072
"""Where an iris lies that looks at the camera: between the outer corner (0) and the inner (1), of drawn faces; and over
the line of both, in widths of the eye, about as in the middling one of 18 films (0.03 to 0.09; wide eyes sink)."""
SMALLEST_EYE_PX = 8.0
"""An eye that is narrower in the picture tells nothing."""
SINE_OF_SHARE = 0.4
"""An eye that turns by an angle moves its iris by this times the angle's sine, in widths of the eye: the eyeball's
radius is 12 mm, the opening about 30 mm wide."""
LONGEST_BLINK_S = 0.5
"""Eyes that are closed for longer are closed, and do not blink (Stern, Walrath and Goldstein, 1984: 0.1 to 0.4 s)."""


@dataclass(frozen=True)
class Eyes:
    """``opening``: height of the opening over its width, mean of both eyes; ``turned``: where they look in the head,
    degrees, positive to the picture's right; ``apart``: by how many degrees they disagree; ``lifted``: how far they
    look up, degrees, less than they do, because the lids hide what rises.
    """

    opening: float
    turned: float
    apart: float
    lifted: float = math.nan


NO_EYES = Eyes(math.nan, math.nan, math.nan)


def look_at_eyes(networks: MeshNetworks, luma: Grey, face: FacePoints) -> Eyes:
    """Both eyes of ``face`` in ``luma`` [height, width] uint8; NaN where they are too small.

    The opening is the eye aspect ratio (Soukupova and Cech, 2016) of the outline that the iris network draws: 0.35 to
    0.4 for open eyes, 0.2 and less for closed ones (drawn faces). The mesh's own outline of the eyes hardly closes.
    """
    crops = [_crop(face, *RIGHT_EYE), _crop(face, *reversed(LEFT_EYE))]
    if min(crop.side for crop in crops) < EYE_CROP * SMALLEST_EYE_PX:
        return NO_EYES
    outlines, irises = networks.eyes(luma, *crops)
    right, left = (
        np.array([eye_opening(outline), iris_turn(outline, iris[0]), iris_lift(outline, iris[0])])
        for outline, iris in zip(outlines, irises, strict=True)
    )
    left[1] = -left[1]
    opening, turned, lifted = ((right + left) / 2).tolist()
    return Eyes(opening, turned, abs(float(right[1] - left[1])), lifted)


def _crop(face: FacePoints, left: int, right: int) -> Crop:
    """Around the eye between two corners, the picture's left one first."""
    ends = face.points[[left, right], :2]
    (x, y), (across, down) = ends.mean(axis=0).tolist(), (ends[1] - ends[0]).tolist()
    return Crop(x, y, EYE_CROP * math.hypot(across, down), math.atan2(down, across))


def eye_opening(outline: Floats) -> float:
    """Mean height of the opening over its width, of ``outline`` [16, 2]."""
    width = max(float(np.hypot(*(outline[CORNERS[1]] - outline[CORNERS[0]]))), 1e-6)
    return float(np.mean([np.hypot(*(outline[upper] - outline[lower])) for lower, upper in LIDS])) / width


def iris_turn(outline: Floats, iris: Floats) -> float:
    """Degrees by which an eye is turned from its outer (negative) to its inner corner, by the ``iris`` [2]'s place."""
    line = outline[CORNERS[1]] - outline[CORNERS[0]]
    share = float((iris - outline[CORNERS[0]]) @ line) / max(float(line @ line), 1e-6) - STRAIGHT
    return math.degrees(math.asin(max(-1.0, min(1.0, share / SINE_OF_SHARE))))


def iris_lift(outline: Floats, iris: Floats) -> float:
    """Degrees by which an eye looks up (down where negative), by the height of the ``iris`` [2] over its corners."""
    line = outline[CORNERS[1]] - outline[CORNERS[0]]
    below = line[0] * (iris[1] - outline[CORNERS[0]][1]) - line[1] * (iris[0] - outline[CORNERS[0]][0])
    height = -float(below) / max(float(line @ line), 1e-6)
    return math.degrees(math.asin(max(-1.0, min(1.0, (height - LEVEL) / SINE_OF_SHARE))))


def blinks(times_s: Sequence[float], closed: Floats) -> list[Span]:
    """Short closures between open eyes: from the last open sample before to the first after, seconds.

    ``closed`` [F] is 1, 0 or NaN at ``times_s``. What is seen of blinks depends on the rate at which eyes are looked
    at: at 2.5 a second about half of them fall between two looks, so that their number is a lower bound.
    """
    found: list[Span] = []
    known = [(time_s, bool(value)) for time_s, value in zip(times_s, closed.tolist(), strict=True) if value == value]
    since: float | None = None
    shut_s = 0.0
    for (before_s, was), (now_s, is_now) in pairwise(known):
        if is_now and not was:
            since, shut_s = before_s, now_s
        elif was and not is_now and since is not None:
            if before_s - shut_s <= LONGEST_BLINK_S:
                found.append((since, now_s))
            since = None
    return found
