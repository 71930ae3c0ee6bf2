"""The networks of the mesh, on the brightness alone: MediaPipe's are run by OpenCV."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.features.emotion_model.expression_pair import expression_pair
from apportion.features.face.face import Point
from apportion.features.face.mesh.crop import Crop
from apportion.features.media_io.video import Grey
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.foundation.model_hub.mesh import FACE, IRIS, POINTS, find_mesh, mesh_state

FACE_PX, POINTS_PX, EYE_PX = 128, 192, 64
"""Sides of the squares that the networks take."""
GRIDS = ((8, 2), (16, 6))
"""BlazeFace's anchors: the step of each grid in pixels, and how many lie on each of its places."""
CERTAIN = 0.5
"""Probability from which on a hit is a face, MediaPipe's own."""
OVERLAP = 0.3
"""Hits nearer than this share of their size are the same face."""


@dataclass(frozen=True)
class Detection:
    """A detected face in the drawn square: its middle and ``side``, and both eyes, the picture's left one first."""

    middle: Point
    side: float
    eyes: tuple[Point, Point]


class MeshNetworks:
    """Face detection, the 468 points, the eye, and the ``pair`` that tells emotions: a folder that `find_mesh` gave.

    The networks know colours, but tell the same of grey pictures: on 20 drawn faces the width of the mouth differed by
    at most 0.03 eye distances. The brightness needs no conversion.
    """

    def __init__(self, folder: Path) -> None:
        self._face, self._points, self._eye = (_opened(folder / file.name) for file in (FACE, POINTS, IRIS))
        self.pair = expression_pair(folder)
        self._anchors = _anchors()

    def faces(self, square: Grey) -> list[Detection]:
        """Faces in ``square`` [128, 128] uint8, the most certain first (BlazeFace, Bazarevsky et al., 2019)."""
        self._face.setInput(_blob(square, 1 / 127.5, -1.0))
        scores, boxes = self._face.forward(["classificators", "regressors"])
        logits = np.clip(scores.reshape(-1).astype(np.float64), -100, 100)
        likely = np.flatnonzero(1 / (1 + np.exp(-logits)) > CERTAIN)
        hits: list[Detection] = []
        for index in likely[np.argsort(-logits[likely], kind="stable")]:
            # Middle, width and height, then six points, of which the first two are the eyes.
            row = boxes.reshape(-1, 8, 2)[index].astype(np.float64)
            place = row + self._anchors[index] * FACE_PX
            hit = Detection(_point(place[0]), float(row[1].max()), (_point(place[2]), _point(place[3])))
            if all(np.hypot(*np.subtract(hit.middle, other.middle)) > OVERLAP * other.side for other in hits):
                hits.append(hit)
        return hits

    def points(self, luma: Grey, crop: Crop) -> tuple[Floats, float]:
        """468 points [468, 3] in pixels of ``luma`` (x right, y down, z away from the camera) and whether a face is
        there, 0 to 1 (Kartynnik et al., 2019)."""
        self._points.setInput(_blob(crop.cut(luma, POINTS_PX), 1 / 255.0, 0.0))
        first, second = self._points.forward(["conv2d_21", "conv2d_31"])
        raw, flag = (first, second) if first.size > second.size else (second, first)
        points = raw.reshape(468, 3).astype(np.float64)
        depth = points[:, 2] * crop.side / POINTS_PX
        logit = float(np.clip(flag.reshape(-1)[0], -100, 100))
        return np.column_stack([crop.back(points[:, :2], POINTS_PX), depth]), 1 / (1 + float(np.exp(-logit)))

    def eye(self, luma: Grey, crop: Crop, mirrored: bool) -> tuple[Floats, Floats]:
        """Outline of an eye [16, 2] and its iris [5, 2], the middle first, in pixels of the drawn crop (64 wide).

        The network knows the eye on the picture's left; the other one is ``mirrored``, and its points stay so: the
        outline goes from the outer corner (0) along the lower lid to the inner (8), 9 to 15 is the upper lid
        (Ablavatski et al., 2020).
        """
        square = crop.cut(luma, EYE_PX)
        self._eye.setInput(_blob(square[:, ::-1] if mirrored else square, 1 / 255.0, 0.0))
        outline, iris = self._eye.forward(["output_eyes_contours_and_brows", "output_iris"])
        return (
            outline.reshape(71, 3)[:16, :2].astype(np.float64),
            iris.reshape(5, 3)[:, :2].astype(np.float64),
        )


def mesh_networks() -> MeshNetworks:
    """The networks in the user's cache, opened once a process; raises ``InputError`` where they are not there."""
    folder = find_mesh()
    if folder is None:
        raise InputError(
            f'features.detector = "mesh": the networks of the face mesh are {mesh_state()}. Get them with '
            '`apportion models fetch mesh`, or take detector = "haar".'
        )
    return _networks(folder)


@lru_cache(maxsize=1)
def _networks(folder: Path) -> MeshNetworks:
    return MeshNetworks(folder)


def _opened(path: Path) -> Any:
    import cv2

    # OpenCV's own threads would take cores from the other workers.
    cv2.setNumThreads(1)
    try:
        return cv2.dnn.readNetFromTFLite(str(path))
    except cv2.error as error:
        raise InputError(
            f"{path}: OpenCV {cv2.__version__} cannot read it ({str(error).strip().splitlines()[-1][:120]}). "
            'Install the OpenCV that apportion asks for, or take detector = "haar".'
        ) from None


def _blob(square: Grey, scale: float, shift: float) -> NDArray[np.float32]:
    """[1, 3, side, side] float32, the brightness three times."""
    plane = square.astype(np.float32) * np.float32(scale) + np.float32(shift)
    return np.ascontiguousarray(np.broadcast_to(plane, (1, 3, *plane.shape)))


def _anchors() -> Floats:
    """Middles of BlazeFace's anchors [896, 2], fractions of the square."""
    places = []
    for step, count in GRIDS:
        cells = (np.arange(FACE_PX // step) + 0.5) * step / FACE_PX
        down, right = np.meshgrid(cells, cells, indexing="ij")
        places.append(np.repeat(np.column_stack([right.ravel(), down.ravel()]), count, axis=0))
    return np.concatenate(places)


def _point(place: Floats) -> Point:
    return float(place[0]), float(place[1])
