"""Gaze on the screen, by the turn of the head and of the eyes in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apportion.features.face.mesh.eyes import Eyes
from apportion.features.face.mesh.head_pose import HeadPose
from apportion.foundation.arrays import Floats

IRIS_HEAD = 35.0
"""Degrees of yaw beyond which the far eye is foreshortened, and the head alone tells where somebody looks."""
UP, DOWN = 30.0, 40.0
"""Degrees by which a head is raised or bowed that looks at no screen any more: 15 above the camera or 25 below it, and
15 that the eyes may make up for."""
LIFTED, BOWED = 6.8, 0.5
"""Degrees of the irises (`Eyes.lifted`) from which on somebody looks up, above the screen, and what each degree of a
bowed head adds, because its eyes look up to be on the screen. Of 1,627 looks at open eyes in 16 films 17 lie above, in
six moments: in four one viewer saw the eyes look up, the other two are a grimace with crossed eyes. Below lie smaller
glances up, too. Where eyes look down nothing is told: wide open ones sink as far."""
SMALL_EYE, LARGE_EYE = 8.0, 20.0
"""Width of an eye in pixels that tells nothing, and from which on the iris is well placed."""
EYES_APART = 30.0
"""Degrees by which the eyes disagree from which on neither is believed, beside the degrees of their turn: in 55 glances
aside the eyes lay up to 38 apart."""
NEAR_YAW, NEAR_PITCH, NEAR_LIFT = 3.0, 3.0, 1.5
"""Degrees from a border within which another encoder or frame rate may tell the other side."""
HEAD_ALONE = 0.5
"""Confidence of a gaze that is told from the head only."""
FARTHEST_CENTRE = 10.0
"""Degrees from the camera within which a screen's middle is looked for."""
CALIBRATION_S, ABOUT = 20.0, 0.05
"""Seconds of looking, and share of it that goes elsewhere, from which on a person's own middle is believed."""


def gaze_yaw(pose: HeadPose, eyes: Eyes) -> float:
    """Where somebody looks, degrees from the camera, positive to the picture's right; the head alone without eyes."""
    if abs(pose.yaw) > IRIS_HEAD or not math.isfinite(eyes.turned):
        return pose.yaw
    return pose.yaw + eyes.turned


def gaze_confidence(certainty: float, pose: HeadPose, eyes: Eyes, eye_px: float) -> float:
    """How far `gaze_yaw` can be believed, 0 to 1: a product of what the network says of the face (``certainty``), the
    size of the eyes in the picture (``eye_px``) and how well both agree; 0 where there is no pose."""
    if not math.isfinite(pose.yaw):
        return 0.0
    if abs(pose.yaw) > IRIS_HEAD:
        return certainty
    if not math.isfinite(eyes.turned):
        return HEAD_ALONE * certainty
    size = min(1.0, max(0.0, (eye_px - SMALL_EYE) / (LARGE_EYE - SMALL_EYE)))
    return certainty * size * max(0.0, 1.0 - eyes.apart / (EYES_APART + abs(eyes.turned)))


@dataclass(frozen=True)
class Gaze:
    """``on_screen`` [F]: 1, 0 where away, NaN where unknown; ``near_border`` [F] says that it is about the border."""

    on_screen: Floats
    near_border: Floats


def on_screen(yaws: Floats, pitches: Floats, lifts: Floats, span_s: float, limit: float) -> Gaze:
    """Whether a person looks at the screen, and where that is a matter of little.

    ``yaws`` [F] are degrees of gaze, ``pitches`` [F] of the head, ``lifts`` [F] of the irises (NaN: not told). On
    screen is within ``limit`` of the screen's middle to the side (24 inches at 60 cm span 24 degrees to each side, a
    laptop 16; a drawn glance to the side is 18 to 23, half of one 6 to 11), between `UP` and `DOWN`, and not `LIFTED`.
    The middle is the camera; the person's own median takes its place, at most `FARTHEST_CENTRE` away, where ``span_s``
    is at least `CALIBRATION_S` and they look about: with somebody who always looks aside, the median is no screen.
    """
    known = np.isfinite(yaws) & np.isfinite(pitches)
    if not known.any():
        return Gaze(*(np.full(len(yaws), np.nan) for _ in range(2)))
    own = float(np.median(yaws[known]))
    elsewhere = float(np.mean(np.abs(yaws[known] - own) > limit))
    enough = span_s >= CALIBRATION_S and elsewhere >= ABOUT
    centre = max(-FARTHEST_CENTRE, min(FARTHEST_CENTRE, own)) if enough else 0.0
    # How far beyond each border; where one is far exceeded, the others do not matter.
    beyond = np.array(
        [
            (np.abs(yaws - centre) - limit) / NEAR_YAW,
            np.maximum(pitches - DOWN, -UP - pitches) / NEAR_PITCH,
            (lifts - BOWED * np.maximum(pitches, 0.0) - LIFTED) / NEAR_LIFT,
        ]
    )
    farthest = np.fmax.reduce(beyond)
    return Gaze(*(np.where(known, told, np.nan) for told in (farthest <= 0.0, np.abs(farthest) < 1.0)))
