"""The networks of the mesh, on the brightness alone: MediaPipe's, run by ONNX Runtime."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.features.emotion_model.expression_pair import expression_pair
from apportion.features.emotion_model.network import CPU, open_session
from apportion.features.face.face import Point
from apportion.features.face.mesh.crop import Crop
from apportion.features.media_io.video import Grey
from apportion.features.network_files.tflite import to_onnx
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
        boxes, scores = self._face.run(None, {"luma": _scaled([square], 1 / 127.5, -1.0)})
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
        raw, flag = self._points.run(None, {"luma": _scaled([crop.cut(luma, POINTS_PX)], 1 / 255.0)})
        points = raw.reshape(468, 3).astype(np.float64)
        depth = points[:, 2] * crop.side / POINTS_PX
        logit = float(np.clip(flag.reshape(-1)[0], -100, 100))
        return np.column_stack([crop.back(points[:, :2], POINTS_PX), depth]), 1 / (1 + float(np.exp(-logit)))

    def eyes(self, luma: Grey, right: Crop, left: Crop) -> tuple[Floats, Floats]:
        """Outlines of a person's right and left eye [2, 16, 2] and their irises [2, 5, 2], the middle first, in pixels
        of the drawn crops (64 wide).

        The network knows the eye on the picture's left; the other one is mirrored, and its points stay so: an
        outline goes from the outer corner (0) along the lower lid to the inner (8), 9 to 15 is the upper lid
        (Ablavatski et al., 2020).
        """
        squares = [right.cut(luma, EYE_PX), left.cut(luma, EYE_PX)[:, ::-1]]
        outlines, irises = self._eye.run(None, {"luma": _scaled(squares, 1 / 255.0)})
        return (
            outlines.reshape(2, 71, 3)[:, :16, :2].astype(np.float64),
            irises.reshape(2, 5, 3)[:, :, :2].astype(np.float64),
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
        return open_session(to_onnx(path.read_bytes()), path, CPU)
    # Damaged bytes are sizes, places and numbers of anything.
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, struct.error) as error:
        raise InputError(
            f"{path}: no network of TensorFlow Lite that is known here ({str(error)[:120]}). Fetch it again: delete "
            "it, then `apportion models fetch mesh`."
        ) from None


def _scaled(squares: Sequence[Grey], scale: float, shift: float = 0.0) -> NDArray[np.float32]:
    """[n, 1, side, side] float32 of the ``squares``' brightness."""
    return np.stack(squares)[:, None].astype(np.float32) * np.float32(scale) + np.float32(shift)


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
