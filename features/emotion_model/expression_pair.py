"""Emotions by two small networks together: the plain mean of what face-api and mini-Xception tell.

Nothing in it was fitted. Of 129 stills of strangers .891 were right (macro-F1 .793, calibration error .049), of 637
much harder crops .575; each of the two alone was worse (docs/evidence/features.md). Contempt is none of their classes.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from apportion.features.emotion_model import face_api, mini_xception
from apportion.features.emotion_model.face_api import FaceApi
from apportion.features.emotion_model.mini_xception import MiniXception
from apportion.features.media_io.video import Grey
from apportion.features.registry import EMOTIONS
from apportion.foundation.arrays import Floats
from apportion.foundation.model_hub.mesh import FACE_API, FACE_API_ARRAYS, MINI_XCEPTION

PAIR = (FACE_API.name, FACE_API_ARRAYS.name, MINI_XCEPTION.name)
"""The files, in the folder of the face mesh; the first stands for the pair where a path is told."""
MARGINS = (1.0, 1.1, 1.2)
"""Sides of the squares around the points in which face-api looks: the mean of its logits is steadier than each."""
ONE_MARGIN = 1.1
_FACE_API, _MINI_XCEPTION = (
    np.array([EMOTIONS.index(name) for name in order]) for order in (face_api.ORDER, mini_xception.ORDER)
)
_NEUTRAL, _HAPPY = (face_api.ORDER.index(name) for name in ("neutral", "happiness"))


@lru_cache(maxsize=1)
def expression_pair(folder: Path) -> ExpressionPair:
    """`ExpressionPair` of ``folder``, opened once a process."""
    return ExpressionPair(folder)


class ExpressionPair:
    """Both networks out of ``folder``. Raises ``InputError``: a file of it is no such network."""

    def __init__(self, folder: Path) -> None:
        values, listed, other = (folder / name for name in PAIR)
        self._face_api, self._mini_xception = FaceApi(values, listed), MiniXception(other)

    def probabilities(self, luma: Grey, points: Floats) -> NDArray[np.float32]:
        """How much the face in ``luma`` [height, width] uint8 looks like each of ``EMOTIONS``; NaN for contempt.

        ``points`` [N, 2 or 3] of the face are in pixels of ``luma``. The other seven are 1 together.
        """
        squares = [face_square(luma, points, margin, face_api.SIDE_PX) for margin in MARGINS]
        logits = self._face_api.logits(np.stack(squares)).mean(axis=0)
        powers = np.exp(logits - logits.max())
        shares = np.full(len(EMOTIONS), np.nan)
        shares[_FACE_API] = powers / powers.sum() / 2
        shares[_MINI_XCEPTION] += (
            self._mini_xception.probabilities(face_square(luma, points, MARGINS[0], mini_xception.SIDE_PX)) / 2
        )
        return shares.astype(np.float32)

    def at_one_look(self, luma: Grey, points: Floats) -> tuple[float, float]:
        """Log odds of happiness against the other six, and the share of happiness and neutral, by face-api alone.

        Arguments as `probabilities` has them.
        """
        (logits,) = self._face_api.logits(face_square(luma, points, ONE_MARGIN, face_api.SIDE_PX)[None])
        powers = np.exp(logits - logits.max())
        happy, all_of_them = powers[_HAPPY], powers.sum()
        others = float(np.delete(powers, _HAPPY).sum())
        log_odds = float(np.log(max(happy, 1e-300)) - np.log(max(others, 1e-300)))
        return log_odds, float((happy + powers[_NEUTRAL]) / all_of_them)


def face_square(luma: Grey, points: Floats, margin: float, side_px: int) -> Grey:
    """The square around the points, ``margin`` of their larger extent wide, its border repeated outside the picture."""
    import cv2

    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    scale = side_px / (margin * float((high - low).max()))
    x, y = side_px / 2 - scale * (low + high) / 2
    matrix = np.array([[scale, 0.0, x], [0.0, scale, y]])
    size = (side_px, side_px)
    cut = cv2.warpAffine(luma, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(cut, dtype=np.uint8)
