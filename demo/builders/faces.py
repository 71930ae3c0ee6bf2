"""Talking heads from one public-domain photograph: matte, mouth shapes, and head motion over a still background."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from apportion.corpus.corpus import Corpus
from apportion.foundation.files import write_atomically
from apportion.pipeline.report.picture import turn_rewards_svg


def main() -> None:
    """Read the run's rewards and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--session", required=True)
    parser.add_argument("--rater", required=True)
    arguments = parser.parse_args()
    session = Corpus.open(Path(__file__).resolve().parents[1] / "corpus").session(arguments.session)
    (episode,) = (e for e in session.episodes("satisfaction") if e.rating.rater == arguments.rater)
    values: dict[str, dict[int, float]] = {}
    for row in pq.read_table(arguments.run / "rewards.parquet").to_pylist():
        if tuple(row[name] for name in ("session_id", "rater", "target", "name")) == episode.key:
            values.setdefault(row["method"], {})[row["turn"]] = row["reward"]
    title = f"{episode.rating.rater} gave {episode.rating.target} {episode.rating.score:g} of {episode.rating.high:g}"
    svg = turn_rewards_svg(episode, values, f"{title} (synthetic demo session; LLM replies recorded)")
    write_atomically(arguments.out, svg)


if __name__ == "__main__":
    main()


Image = NDArray[Any]
"""BGR [SIZE, SIZE, 3] uint8."""
Plane = NDArray[Any]
"""float32 [SIZE, SIZE] or [SIZE, SIZE, 3]."""

SIZE = 320
"""Width and height of a frame in pixels."""
LEFT, TOP, SPAN = 110, 0, 235
"""The square of the photograph that is shown: left and top edge and its side, in photograph pixels."""
SCALE = SIZE / SPAN
# Outlines read off the photograph, in pixels of the shown square.
HAIR_CENTRE, HAIR_AXES = (118, 73), (84, 71)
JAW = ((60, 100), (64, 138), (73, 126), (76, 152), (84, 164), (96, 173), (106, 178), (116, 179), (128, 178), (137, 174))
JAW_RIGHT = ((147, 163), (152, 148), (158, 130), (168, 138), (178, 100))
NECK = ((81, 150), (143, 150), (141, 186), (82, 182))
NECK_ROW, BODY_TOP = 181, 147
# The mouth: corners, the middle of its lips' inner edges, and how far the change reaches.
MOUTH_LEFT, MOUTH_RIGHT = (94.5, 140.5), (134.3, 141.3)
UPPER_INNER, LOWER_INNER = 143.0, 149.6
REACH_TOP, REACH_BOTTOM = 131.0, 172.0
MOUTH_DARK = (32, 34, 84)
MOUTH_AREA, FOLDS, FOLD_AXES = ((114, 145), (28, 11)), ((88, 138), (140, 138)), (9, 15)
NARROW, BEND = 0.3, 2.0
"""Of the neutral mouth: how much narrower it is, and how far its corners hang in photograph pixels."""
KEPT = 60
"""Heads that are kept for the next frames: a still face is drawn once."""
CLOSED_DROP = 6.0
"""How far the corners sink when the smile goes, photograph pixels."""
# The eyes: middles of their openings, half width and height, and how far an iris moves in a glance to the side.
EYES, EYE_OPENING = ((93.6, 101.1), (136.5, 103.4)), (8.2, 3.1)
IRIS_RADIUS, IRIS_REACH = 3.4, 4.6
IRIS_DARK, EYE_WHITE = (38, 46, 62), (205, 208, 216)


@dataclass(frozen=True)
class Look:
    """How a person differs from the photograph: mirrored or not, colours, and the wall behind.

    ``pale`` is how far the lips of the neutral mouth fade into the skin: OpenCV's smile cascade takes every clear dark
    line for a smile.
    """

    mirrored: bool
    hue_shift: int
    darker: float
    pale: float
    wall: tuple[int, int, int]


LOOKS = {
    "ana": Look(mirrored=False, hue_shift=0, darker=1.0, pale=0.56, wall=(196, 186, 168)),
    "bea": Look(mirrored=True, hue_shift=-5, darker=0.82, pale=0.46, wall=(164, 190, 176)),
}
"""The two people of the videos; ``wall`` is BGR."""


@dataclass(frozen=True)
class Pose:
    """One frame's head: shift in pixels (right, down), turn in degrees, ``smile`` and ``jaw`` opening from 0 to 1.

    ``glance`` is where the eyes look: -1 to the left of the picture, 0 as photographed (at the viewer), 1 to the right.
    """

    right_px: float = 0.0
    down_px: float = 0.0
    turn_deg: float = 0.0
    smile: float = 0.0
    jaw: float = 0.0
    glance: float = 0.0


class Face:
    """One person, ready to be drawn frame by frame."""

    def __init__(self, look: Look) -> None:
        photo = _photograph()
        matte = _matte(photo)
        head_area = _head_area()
        self._look = look
        self._photo = photo.astype(np.float32)
        self._head_matte = _soften(matte * head_area)
        body, body_matte = _with_neck(photo), _soften(_body_area(matte, head_area))[..., None]
        wall = _wall(look.wall)
        self._behind = body * body_matte + wall * (1.0 - body_matte)
        self._closing, self._squeeze = _mouth_closing()
        self._skin, self._pale = self._calm_skin()
        self._kept: dict[tuple[float, float, float], Plane] = {}

    def draw(self, pose: Pose) -> Image:
        """The frame of ``pose`` as BGR [SIZE, SIZE, 3] uint8."""
        layers = self._layers(pose.smile, pose.jaw, -pose.glance if self._look.mirrored else pose.glance)
        motion = cv2.getRotationMatrix2D((118 * SCALE, 175 * SCALE), pose.turn_deg, 1.0)
        motion[0, 2] += -pose.right_px if self._look.mirrored else pose.right_px
        motion[1, 2] += pose.down_px
        moved = cv2.warpAffine(layers, motion, (SIZE, SIZE), flags=cv2.INTER_LINEAR)
        # Planes of the same layout, and in place: numpy is slow where the last axis is as short as a pixel.
        head, matte = cv2.cvtColor(moved, cv2.COLOR_BGRA2BGR), cv2.cvtColor(moved[..., 3], cv2.COLOR_GRAY2BGR)
        frame = np.subtract(np.float32(1.0), matte, out=matte)
        frame *= self._behind
        frame += head
        drawn = np.clip(frame, 0, 255, out=frame).astype(np.uint8)
        return _tinted(cv2.flip(drawn, 1) if self._look.mirrored else drawn, self._look)

    def _calm_skin(self) -> tuple[Plane, Plane]:
        """Skin without a mouth and laughter lines, and how much of it a neutral face shows."""
        closed = self._warped(1.0)
        mouth = np.zeros((SIZE, SIZE), np.uint8)
        cv2.ellipse(mouth, _scaled(MOUTH_AREA[0]), _scaled(MOUTH_AREA[1]), 0, 0, 360, 1, -1)
        folds = np.zeros((SIZE, SIZE), np.float32)
        for centre in FOLDS:
            cv2.ellipse(folds, _scaled(centre), _scaled(FOLD_AXES), 0, 0, 360, 1.0, -1)
        skin = cv2.inpaint(np.clip(closed, 0, 255).astype(np.uint8), mouth, 3, cv2.INPAINT_TELEA)
        smooth = cv2.GaussianBlur(skin.astype(np.float32), (0, 0), 4)
        faded = np.maximum(mouth.astype(np.float32) * self._look.pale, folds)
        return smooth, cv2.GaussianBlur(faded, (0, 0), 4)[..., None]

    def _layers(self, smile: float, jaw: float, glance: float) -> Plane:
        """The head before it is moved, times its matte, and the matte [SIZE, SIZE, 4]; the last ones are kept."""
        key = (smile, jaw, glance)
        layers = self._kept.get(key)
        if layers is None:
            head = self._head(smile, jaw)
            if glance:
                head = _glancing(head, glance)
            layers = np.dstack([head * self._head_matte[..., None], self._head_matte])
            # Replaced as a whole: several threads may draw.
            self._kept = {**dict(list(self._kept.items())[-KEPT:]), key: layers}
        return layers

    def _head(self, smile: float, jaw: float) -> Plane:
        pale = self._pale * (1.0 - smile)
        head = self._warped(1.0 - smile) * (1.0 - pale) + self._skin * pale
        gap = _mouth_gap(smile, jaw)[..., None]
        return head * (1.0 - gap) + np.array(MOUTH_DARK, np.float32) * gap

    def _warped(self, closed: float) -> Plane:
        rows, columns = np.indices((SIZE, SIZE), dtype=np.float32)
        source = columns + closed * self._squeeze, rows + closed * self._closing
        warped: Plane = cv2.remap(self._photo, *source, cv2.INTER_LINEAR)
        return warped


def _photograph() -> Image:
    """The shown square of NASA's portrait of Eileen Collins (public domain), BGR [SIZE, SIZE, 3]."""
    from skimage.data import astronaut  # a heavy import, and absent where nobody makes the corpus

    square: Image = astronaut()[TOP : TOP + SPAN, LEFT : LEFT + SPAN, ::-1]  # type: ignore[no-untyped-call]
    enlarged: Image = cv2.resize(square, (SIZE, SIZE), interpolation=cv2.INTER_CUBIC)
    return enlarged


def _matte(photo: Image) -> Plane:
    """1 where the person is, 0 where the studio's wall is (GrabCut, seeded with rough outlines)."""
    seeds = np.full((SIZE, SIZE), cv2.GC_PR_BGD, np.uint8)
    for centre, axes, value in (
        (HAIR_CENTRE, (80, 66), cv2.GC_PR_FGD),
        ((117, 120), (50, 68), cv2.GC_PR_FGD),
        ((118, 70), (62, 45), cv2.GC_FGD),
        ((116, 115), (40, 58), cv2.GC_FGD),
        ((116, 240), (95, 90), cv2.GC_PR_FGD),
        ((116, 236), (84, 60), cv2.GC_FGD),
    ):
        cv2.ellipse(seeds, _scaled(centre), _scaled(axes), 0, 0, 360, value, -1)
    edge = int(140 * SCALE)
    seeds[: int(12 * SCALE)] = seeds[:edge, : int(35 * SCALE)] = seeds[:edge, int(200 * SCALE) :] = cv2.GC_BGD
    seeds[: int(200 * SCALE), int(205 * SCALE) :] = cv2.GC_BGD
    cv2.setRNGSeed(0)  # GrabCut starts from a random clustering
    nowhere = (0, 0, 0, 0)  # no rectangle: the seeds say it all
    cv2.grabCut(photo, seeds, nowhere, np.zeros((1, 65)), np.zeros((1, 65)), 6, cv2.GC_INIT_WITH_MASK)
    return np.isin(seeds, (cv2.GC_FGD, cv2.GC_PR_FGD)).astype(np.float32)


def _head_area() -> Plane:
    area = _polygon((*JAW, *JAW_RIGHT))
    cv2.ellipse(area, _scaled(HAIR_CENTRE), _scaled(HAIR_AXES), 0, 0, 360, 1.0, -1)
    return area


def _body_area(matte: Plane, head_area: Plane) -> Plane:
    """Collar, suit and neck, without the slivers that the outline of the head leaves of cheeks and ears."""
    rest = matte * (1.0 - head_area)
    rest[: round(BODY_TOP * SCALE)] = 0.0
    return np.maximum(cv2.morphologyEx(rest, cv2.MORPH_OPEN, np.ones((7, 7), np.uint8)), _polygon(NECK))


def _with_neck(photo: Image) -> Plane:
    """The photograph with the neck continued upwards, for when the chin moves away from it."""
    row = round(NECK_ROW * SCALE)
    skin = photo[row - 2 : row + 3].astype(np.float32).mean(axis=0)[None]
    neck = _polygon(NECK)[..., None] * (np.arange(SIZE) < row)[:, None, None]
    filled: Plane = photo * (1.0 - neck) + skin * neck
    return filled


def _wall(colour: tuple[int, int, int]) -> Plane:
    """A plain wall, a little darker at the bottom."""
    shade = np.linspace(1.04, 0.92, SIZE, dtype=np.float32)[:, None, None]
    return np.repeat(shade * np.array(colour, np.float32), SIZE, axis=1)


def _mouth_closing() -> tuple[Plane, Plane]:
    """How many pixels further (down, right) each point of a closed mouth lies in the smiling photograph."""
    rows, columns = np.indices((SIZE, SIZE), dtype=np.float32) / np.float32(SCALE)
    middle = (MOUTH_LEFT[0] + MOUTH_RIGHT[0]) / 2
    half = (MOUTH_RIGHT[0] - MOUTH_LEFT[0]) / 2
    across = np.clip(np.abs(columns - middle) / half, 0.0, 1.0)
    corner = (MOUTH_LEFT[1] + MOUTH_RIGHT[1]) / 2
    arch = 1.0 - across**2
    upper = corner + (UPPER_INNER - corner) * arch
    lower = corner + (LOWER_INNER - corner) * arch
    line = _lip_line((columns - middle) / half)
    above = REACH_TOP + (rows - REACH_TOP) * (upper - REACH_TOP) / (line - REACH_TOP)
    below = REACH_BOTTOM - (REACH_BOTTOM - rows) * (REACH_BOTTOM - lower) / (REACH_BOTTOM - line)
    source = np.where(rows < line, above, below)
    inside = (rows > REACH_TOP) & (rows < REACH_BOTTOM)
    fade = np.clip((1.9 - np.abs(columns - middle) / half) / 0.8, 0.0, 1.0)
    closing = np.where(inside, (source - rows) * fade, 0.0)
    near = np.exp(-(((rows - line) / 12) ** 2) - ((columns - middle) / (1.5 * half)) ** 2)
    squeeze = NARROW * (columns - middle) * near
    return (closing * SCALE).astype(np.float32), (squeeze * SCALE).astype(np.float32)


def _lip_line(sideways: Plane) -> Plane:
    """Where closed lips meet, in photograph pixels from the top; ``sideways`` is -1 and 1 at the corners."""
    corner = (MOUTH_LEFT[1] + MOUTH_RIGHT[1]) / 2
    bent = np.clip(np.abs(sideways), 0.0, 1.3) ** 2 - 0.5
    return np.asarray(corner + CLOSED_DROP + BEND * bent, np.float32)


def _mouth_gap(smile: float, jaw: float) -> Plane:
    """How dark the gap between the lips of a speaking person is, 0 to 1."""
    rows, columns = np.indices((SIZE, SIZE), dtype=np.float32) / np.float32(SCALE)
    corner = (MOUTH_LEFT[1] + MOUTH_RIGHT[1]) / 2
    line = corner + CLOSED_DROP * (1.0 - smile) + 0.5 * (LOWER_INNER - corner) * smile
    middle = (MOUTH_LEFT[0] + MOUTH_RIGHT[0]) / 2
    half = 0.5 * (MOUTH_RIGHT[0] - MOUTH_LEFT[0]) * (0.72 - 0.2 * jaw)
    height = 0.8 + 2.6 * jaw
    gap: Plane = 0.7 * jaw * np.exp(-(((rows - line) / height) ** 2 + ((columns - middle) / half) ** 4))
    return gap


def _glancing(head: Plane, glance: float) -> Plane:
    """The head with both irises moved sideways within their openings."""
    for x, y in EYES:
        opening, iris = np.zeros((SIZE, SIZE), np.float32), np.zeros((SIZE, SIZE), np.float32)
        cv2.ellipse(opening, _scaled((x, y)), _scaled(EYE_OPENING), 0, 0, 360, 1.0, -1)
        cv2.circle(iris, _scaled((x + IRIS_REACH * glance, y)), round(IRIS_RADIUS * SCALE), 1.0, -1)
        opening, iris = _soften(opening)[..., None], _soften(iris)[..., None]
        eye = np.array(EYE_WHITE, np.float32) * (1.0 - iris) + np.array(IRIS_DARK, np.float32) * iris
        head = head * (1.0 - opening) + eye * opening
    return head


def _tinted(frame: Image, look: Look) -> Image:
    if not look.hue_shift and look.darker == 1.0:
        return frame
    levels = np.arange(256)
    table = np.stack([(levels + look.hue_shift) % 180, levels, levels * look.darker], axis=-1).astype(np.uint8)
    hsv = cv2.LUT(cv2.cvtColor(frame, cv2.COLOR_BGR2HSV), table[None])
    tinted: Image = cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR)
    return tinted


def _polygon(points: tuple[tuple[float, float], ...]) -> Plane:
    area = np.zeros((SIZE, SIZE), np.float32)
    cv2.fillPoly(area, [np.array([_scaled(point) for point in points])], 1.0)
    return area


def _soften(matte: Any) -> Plane:
    soft: Plane = cv2.GaussianBlur(matte.astype(np.float32), (0, 0), 1.1)
    return soft


def _scaled(point: tuple[float, float]) -> tuple[int, int]:
    return round(point[0] * SCALE), round(point[1] * SCALE)
