"""Tiny ONNX models whose outputs are a known function of the mean of each channel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(5)
WEIGHTS = RNG.normal(size=(3, 10)).astype(np.float32)
BIAS = RNG.normal(size=10).astype(np.float32)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def logits(color: tuple[int, int, int], mean=IMAGENET_MEAN, std=IMAGENET_STD) -> np.ndarray:
    """What the model gives for a face of one colour, in the order of its channels [shape=(10,)]."""
    return ((np.array(color) / 255.0 - mean) / std) @ WEIGHTS + BIAS


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max())
    return powers / powers.sum()


def graph(
    outputs: int = 8,
    shape: tuple[int | str | None, ...] = ("n", 3, 32, 32),
    kind: int = TensorProto.FLOAT,
    nodes: list[onnx.NodeProto] | None = None,
    tensors: list[onnx.TensorProto] | None = None,
    inputs: int = 1,
) -> onnx.GraphProto:
    """The mean of every channel, times ``WEIGHTS``, plus ``BIAS``."""
    plain = [
        helper.make_node("ReduceMean", ["face"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Gemm", ["mean", "weights", "bias"], ["emotions"]),
    ]
    element = helper.tensor_dtype_to_np_dtype(kind)
    rows = shape[1] if isinstance(shape[1], int) else 3
    weights = np.resize(WEIGHTS, (rows, 10))[:, np.arange(outputs) % 10].astype(element)
    bias = np.resize(BIAS, outputs).astype(element)
    plain_tensors = [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(bias, "bias")]
    faces = [helper.make_tensor_value_info(name, kind, shape) for name in ("face", "more")[:inputs]]
    given = [helper.make_tensor_value_info("emotions", kind, (shape[0], outputs))]
    return helper.make_graph(nodes or plain, "g", faces, given, plain_tensors if tensors is None else tensors)


def save(path: Path, made: onnx.GraphProto, domain: str = "") -> Path:
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    path.write_bytes(helper.make_model(made, opset_imports=opsets, ir_version=9).SerializeToString())
    return path


def small_model(path: Path, **changes: object) -> Path:
    return save(path, graph(**changes))  # type: ignore[arg-type]
