"""The expression network of face-api (Mühler; npm's `@vladmandic/face-api` 1.7.15, MIT), by ONNX Runtime.

Four dense blocks of separable convolutions; its 49 arrays lie in one file in a byte a value, with a list of them beside
it (TensorFlow.js). Both are read here, and the network is written out again as a graph of ONNX.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.features.emotion_model.network import CPU, open_session
from apportion.features.network_files.onnx_writer import Graph, same_pads
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError

SIDE_PX = 112
ORDER = ("neutral", "happiness", "sadness", "anger", "fear", "disgust", "surprise")
MEAN = (122.782, 117.001, 104.298)
"""Taken off red, green and blue, which are then divided by 255."""
BLOCKS = 4

Arrays = dict[str, NDArray[np.float32]]


class FaceApi:
    """The network of two files. Raises ``InputError``: they are no such network."""

    def __init__(self, values: Path, listed: Path) -> None:
        try:
            graph = to_onnx(read_arrays(values.read_bytes(), listed.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise InputError(
                f"{values}: no network of face-api ({str(error)[:120]}). Fetch it again: delete it, then "
                "`apportion models fetch mesh`."
            ) from None
        self._session = open_session(graph, values, CPU)

    def logits(self, faces: NDArray[np.uint8]) -> Floats:
        """Of ``faces`` [N, 112, 112] uint8, brightness, [N, 7] in `ORDER`.

        Grey pictures tell as much as coloured ones: .884 and .868 of 129 stills were right.
        """
        (logits,) = self._session.run(None, {"luma": faces[:, None].astype(np.float32)})
        return np.asarray(logits, dtype=np.float64)


def read_arrays(values: bytes, listed: str) -> Arrays:
    """The arrays by name, of the file of ``values`` and the list of them (JSON).

    A byte stands for ``byte * scale + min``. Raises ``ValueError`` and its like where the two do not fit.
    """
    at, found = 0, Arrays()
    entries: list[dict[str, Any]] = [entry for group in json.loads(listed) for entry in group["weights"]]
    for entry in entries:
        count, packed = int(np.prod(entry["shape"])), entry.get("quantization")
        if packed:
            raw = np.frombuffer(values, np.uint8, count, at).astype(np.float32)
            flat = raw * np.float32(packed["scale"]) + np.float32(packed["min"])
            at += count
        else:
            flat = np.frombuffer(values, "<f4", count, at).astype(np.float32)
            at += 4 * count
        found[entry["name"]] = flat.reshape(entry["shape"])
    if at != len(values):
        raise ValueError(f"{len(values):,} bytes, of which {at:,} are listed")
    return found


def to_onnx(arrays: Arrays) -> bytes:
    """The network as an ONNX model: ``luma`` float32 [n, 1, 112, 112], 0 to 255, to logits [n, 7]."""
    graph = Graph()
    # Brightness less each colour's mean makes three planes of one.
    planes = graph.add("Sub", "luma", graph.constant(np.reshape(MEAN, (1, 3, 1, 1))))
    shown = graph.add("Div", planes, graph.constant(255.0))
    side = SIDE_PX
    for block in range(BLOCKS):
        first = graph.add("Relu", _convolved(graph, shown, arrays, f"dense{block}/conv0", side, 2))
        side //= 2
        total = graph.add("Add", first, _convolved(graph, first, arrays, f"dense{block}/conv1", side, 1))
        for number in (2, 3):
            more = _convolved(graph, graph.add("Relu", total), arrays, f"dense{block}/conv{number}", side, 1)
            total = graph.add("Add", total, more)
        shown = graph.add("Relu", total)
    flat = graph.add("Flatten", graph.add("GlobalAveragePool", shown))
    weights, bias = (graph.constant(arrays[f"fc/{name}"]) for name in ("weights", "bias"))
    return graph.model("luma", SIDE_PX, {graph.add("Gemm", flat, weights, bias): len(ORDER)})


def _convolved(graph: Graph, of: str, arrays: Arrays, layer: str, side: int, stride: int) -> str:
    """A convolution of 3 x 3 with a bias; all but the first are each channel by itself, then all at each place."""
    bias, (before, after) = arrays[f"{layer}/bias"], same_pads(side, 3, stride)
    wide: dict[str, Any] = {"strides": (stride, stride), "pads": (before, before, after, after)}
    if f"{layer}/filters" in arrays:
        return graph.conv(of, arrays[f"{layer}/filters"].transpose(3, 2, 0, 1), bias, **wide)
    depth = arrays[f"{layer}/depthwise_filter"].transpose(2, 3, 0, 1)
    each = graph.conv(of, depth, group=len(depth), **wide)
    return graph.conv(each, arrays[f"{layer}/pointwise_filter"].transpose(3, 2, 0, 1), bias)
