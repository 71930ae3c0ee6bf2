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
from apportion.features.emotion_model.onnx_writer import model, node, tensor, value
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError

SIDE_PX = 112
ORDER = ("neutral", "happiness", "sadness", "anger", "fear", "disgust", "surprise")
MEAN = (122.782, 117.001, 104.298)
"""Taken off red, green and blue, which are then divided by 255."""
BLOCKS = 4
PADS = {1: (1, 1, 1, 1), 2: (0, 0, 1, 1)}
"""By stride: TensorFlow's "same" on even sides adds, at every second place, right and below only."""

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
        planes = np.broadcast_to(faces[:, None].astype(np.float32), (len(faces), 3, SIDE_PX, SIDE_PX))
        (logits,) = self._session.run(None, {"rgb": np.ascontiguousarray(planes)})
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
    """The network as an ONNX model: ``rgb`` float32 [n, 3, 112, 112], 0 to 255, to ``logits`` [n, 7]."""
    made = _Graph(arrays)
    mean, scale = made.constant("mean", np.reshape(MEAN, (1, 3, 1, 1))), made.constant("scale", np.array(255.0))
    shown = made.add("Div", made.add("Sub", "rgb", mean), scale)
    for block in range(BLOCKS):
        first = made.relu(made.convolved(shown, f"dense{block}/conv0", 2))
        total = made.add("Add", first, made.convolved(first, f"dense{block}/conv1", 1))
        for number in (2, 3):
            total = made.add("Add", total, made.convolved(made.relu(total), f"dense{block}/conv{number}", 1))
        shown = made.relu(total)
    flat = made.add("Flatten", made.add("GlobalAveragePool", shown))
    weights, bias = (made.constant(f"fc/{name}", arrays[f"fc/{name}"]) for name in ("weights", "bias"))
    made.nodes.append(node("Gemm", (flat, weights, bias), "logits"))
    return model(made.nodes, made.tensors, value("rgb", ("n", 3, SIDE_PX, SIDE_PX)), value("logits", ("n", len(ORDER))))


class _Graph:
    """Collects nodes and tensors; each method gives the name of what it added."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        self.tensors.append(tensor(name, np.asarray(values, np.float32)))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator}{len(self.nodes)}"
        self.nodes.append(node(operator, inputs, name, attributes))
        return name

    def relu(self, of: str) -> str:
        return self.add("Relu", of)

    def convolved(self, of: str, layer: str, stride: int) -> str:
        """A convolution of 3 x 3 with a bias; all but the first are each channel by itself, then all at each place."""
        bias = self.constant(f"{layer}/bias", self._arrays[f"{layer}/bias"])
        wide: dict[str, Any] = {"strides": (stride, stride), "pads": PADS[stride]}
        if f"{layer}/filters" in self._arrays:
            whole = self._arrays[f"{layer}/filters"].transpose(3, 2, 0, 1)
            return self.add("Conv", of, self.constant(f"{layer}/filters", whole), bias, **wide)
        depth = self._arrays[f"{layer}/depthwise_filter"].transpose(2, 3, 0, 1)
        point = self._arrays[f"{layer}/pointwise_filter"].transpose(3, 2, 0, 1)
        each = self.add("Conv", of, self.constant(f"{layer}/depth", depth), group=len(depth), **wide)
        return self.add("Conv", each, self.constant(f"{layer}/point", point), bias)
