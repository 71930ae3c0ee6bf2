"""Networks of TensorFlow Lite, read by our own code, against OpenCV's reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import flatbuffers
import numpy as np
import onnx
import pytest

from apportion.features.emotion_model.network import CPU, open_session
from apportion.features.network_files import tflite
from apportion.foundation.model_hub.mesh import FACE, IRIS, POINTS
from tests.features.face.mesh.networks_here import FOUND

RNG = np.random.default_rng(0)
SIDE_PX = 12
SAME, VALID = 0, 1


class File:
    """Writes a network of TensorFlow Lite, field by field of its schema."""

    def __init__(self) -> None:
        self._to = flatbuffers.Builder(1024)
        self._codes: list[int] = []
        self._tensors: list[tuple[tuple[int, ...], int, bytes]] = []
        self._operations: list[tuple[int, list[int], int, dict[int, tuple[str, int]], int]] = []

    def tensor(self, shape: Sequence[int], values: np.ndarray | None = None) -> int:
        kind = {"float16": 1, "int32": 2}.get("" if values is None else str(values.dtype), 0)
        self._tensors.append((tuple(shape), kind, b"" if values is None else values.tobytes()))
        return len(self._tensors) - 1

    def weights(self, *shape: int, spread: float = 0.4) -> int:
        """Random ones of two bytes, and the operator that makes four of them."""
        halves = self.tensor(shape, RNG.normal(0, spread, shape).astype(np.float16))
        return self.operation(tflite.DEQUANTIZE, [halves], shape)

    def operation(self, code: int, takes: list[int], shape: Sequence[int], kind: int = 0, **options: int) -> int:
        """``options``: its table's fields as ``int8_NUMBER`` or ``int32_NUMBER``; ``kind``: what table it is."""
        fields = {int(name.partition("_")[2]): (name.partition("_")[0], held) for name, held in options.items()}
        to = self.tensor(shape)
        self._operations.append((code, takes, to, fields, kind))
        return to

    def written(self, taken: int, given: list[int]) -> bytes:
        codes = sorted({operation[0] for operation in self._operations})
        operators = [self._table({0: ("int8", c), 3: ("int32", c)}) for c in codes]
        buffers = [
            self._table({0: ("offset", self._to.CreateByteVector(raw))} if raw else {}) for *_, raw in self._tensors
        ]
        tensors = []
        for number, (shape, kind, _) in enumerate(self._tensors):
            name = self._to.CreateString(f"t{number}")
            held = {0: ("offset", self._numbers(shape)), 1: ("int8", kind), 2: ("uint32", number), 3: ("offset", name)}
            tensors.append(self._table(held))
        operations = []
        for code, takes, to, options, kind in self._operations:
            held = {1: ("offset", self._numbers(takes)), 2: ("offset", self._numbers([to]))}
            held |= {3: ("uint8", kind), 4: ("offset", self._table(options))} if kind else {}
            operations.append(self._table({0: ("uint32", codes.index(code))} | held))
        lists = [self._offsets(tensors), self._numbers([taken]), self._numbers(given), self._offsets(operations)]
        graph = self._table({field: ("offset", each) for field, each in enumerate(lists)})
        parts = [self._offsets(operators), self._offsets([graph]), self._to.CreateString("x"), self._offsets(buffers)]
        fields = {field: ("offset", each) for field, each in enumerate(parts, 1)}
        self._to.Finish(self._table({0: ("uint32", 3)} | fields), b"TFL3")
        return bytes(self._to.Output())

    def _table(self, fields: dict[int, tuple[str, int]]) -> int:
        self._to.StartObject(6)
        for field, (kind, held) in fields.items():
            if kind == "offset":
                self._to.PrependUOffsetTRelativeSlot(field, held, 0)
            else:
                getattr(self._to, f"Prepend{kind.capitalize()}Slot")(field, held, 0)
        return self._to.EndObject()

    def _numbers(self, values: Sequence[int]) -> int:
        return self._to.CreateNumpyVector(np.array(values, np.int32))

    def _offsets(self, values: Sequence[int]) -> int:
        self._to.StartVector(4, len(values), 4)
        for each in reversed(values):
            self._to.PrependUOffsetTRelative(each)
        return self._to.EndVector()


def small() -> bytes:
    """Every operator once, and the borders of an odd side."""
    file = File()
    taken = file.tensor((1, SIDE_PX, SIDE_PX, 3))
    conv, depthwise, pool = 1, 2, 5
    weights, bias = file.weights(8, 3, 3, 3), file.weights(8)
    first = file.operation(tflite.CONV, [taken, weights, bias], (1, 6, 6, 8), conv, int8_0=SAME, int32_1=2, int32_2=2)
    bent = file.operation(tflite.PRELU, [first, file.weights(1, 1, 8)], (1, 6, 6, 8))
    each = [bent, file.weights(1, 3, 3, 8), file.weights(8)]
    deep = file.operation(tflite.DEPTHWISE, each, (1, 3, 3, 8), depthwise, int8_0=SAME, int32_1=2, int32_2=2, int32_3=1)
    mixed = file.operation(
        tflite.CONV,
        [deep, file.weights(16, 1, 1, 8), file.weights(16)],
        (1, 3, 3, 16),
        conv,
        int8_0=VALID,
        int32_1=1,
        int32_2=1,
    )
    sides = {"int32_1": 2, "int32_2": 2, "int32_3": 2, "int32_4": 2}
    pooled = file.operation(tflite.MAX_POOL, [bent], (1, 3, 3, 8), pool, int8_0=VALID, **sides)
    more = file.tensor((4, 2), np.array([[0, 0], [0, 0], [0, 0], [0, 8]], np.int32))
    padded = file.operation(tflite.PAD, [pooled, more], (1, 3, 3, 16))
    added = file.operation(tflite.ADD, [mixed, padded], (1, 3, 3, 16), 11, int8_0=0)
    # Slopes on both sides of 1.
    steep = file.operation(tflite.PRELU, [added, file.weights(1, 1, 16, spread=3.0)], (1, 3, 3, 16))
    shown = file.operation(tflite.RELU, [steep], (1, 3, 3, 16))
    shape = [file.tensor((2,), np.array(of, np.int32)) for of in ([1, 144], [1, 72])]
    flat = file.operation(tflite.RESHAPE, [shown, shape[0]], (1, 144), 17)
    other = file.operation(tflite.RESHAPE, [pooled, shape[1]], (1, 72), 17)
    joined = file.operation(tflite.CONCATENATION, [flat, other], (1, 216), 10, int32_0=1, int8_1=0)
    return file.written(taken, [joined])


def by_opencv(content: bytes, square: np.ndarray) -> list[np.ndarray]:
    network = cv2.dnn.readNetFromTFLite(np.frombuffer(content, np.uint8))
    network.setInput(np.ascontiguousarray(np.broadcast_to(square, (1, 3, *square.shape))))
    return [each.ravel() for each in network.forward(network.getUnconnectedOutLayersNames())]


def by_us(content: bytes, squares: np.ndarray) -> list[np.ndarray]:
    return open_session(tflite.to_onnx(content), Path("x"), CPU).run(None, {"luma": squares[:, None]})


def test_every_operator_is_opencv_s_and_a_picture_does_not_touch_the_next() -> None:
    content, squares = small(), RNG.random((2, SIDE_PX, SIDE_PX), np.float32)
    (told,) = by_us(content, squares)
    assert told.shape == (2, 216) and np.ptp(told) > 1
    for square, mine in zip(squares, told, strict=True):
        np.testing.assert_allclose(mine, by_opencv(content, square)[0], atol=1e-5)


def test_what_is_written_is_a_model_by_onnx_s_own_rules() -> None:
    onnx.checker.check_model(onnx.load_from_string(tflite.to_onnx(small())), full_check=True)


@pytest.mark.skipif(FOUND is None, reason="the face mesh is not here: apportion models fetch mesh")
@pytest.mark.parametrize(("file", "side_px"), [(FACE, 128), (POINTS, 192), (IRIS, 64)])
def test_mediapipe_s_networks_are_opencv_s_to_a_millionth(file, side_px: int) -> None:
    assert FOUND is not None
    content = (FOUND / file.name).read_bytes()
    square = cv2.GaussianBlur(RNG.random((side_px, side_px), np.float32), (9, 9), 0)
    mine, theirs = by_us(content, square[None]), by_opencv(content, square)
    for told in mine:
        other = next(each for each in theirs if each.size == told.size)
        np.testing.assert_allclose(told[0], other, atol=2e-6 * np.abs(other).max())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda file, of: file.operation(99, [of], (1, 4, 4, 8)), "operator 99 is not known"),
        (
            lambda file, of: file.operation(
                tflite.CONV, [of, file.weights(8, 1, 1, 8), file.weights(8)], (1, 4, 4, 8), 1, int8_3=1
            ),
            "activation 1 is not known",
        ),
        (
            lambda file, of: file.operation(
                tflite.PAD, [of, file.tensor((4, 2), np.eye(4, 2, dtype=np.int32))], (1, 5, 5, 8)
            ),
            "padding of anything but channels",
        ),
    ],
)
def test_what_is_not_known_is_told(change, told: str) -> None:
    file = File()
    of = file.tensor((1, 4, 4, 8))
    content = file.written(of, [change(file, of)])
    with pytest.raises(ValueError, match=told):
        tflite.to_onnx(content)
