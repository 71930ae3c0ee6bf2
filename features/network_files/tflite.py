"""Reads a network of TensorFlow Lite and writes it as ONNX, for grey pictures and fast on processors with AVX.

Source: TensorFlow's schema.fbs (version 3); a file is a FlatBuffer. MediaPipe's three networks need eleven operators.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.features.network_files.onnx_writer import Graph, same_pads

ADD, CONCATENATION, CONV, DEPTHWISE, DEQUANTIZE, MAX_POOL, RELU, RESHAPE, PAD, PRELU = 0, 2, 3, 4, 6, 17, 19, 22, 34, 54
TYPES = {0: "<f4", 1: "<f2", 2: "<i4"}
"""Kinds of numbers that a tensor holds."""
Array = NDArray[Any]


class _Table:
    """A table of a FlatBuffer at byte ``place``: its fields by number."""

    def __init__(self, content: bytes, place: int) -> None:
        self._content, self._place = content, place
        self._fields = place - self._read("i", place)

    def number(self, field: int, kind: str = "i") -> int:
        """A number of ``kind`` (struct's letter), 0 where the field is left out."""
        place = self._at(field)
        return self._read(kind, place) if place else 0

    def array(self, field: int, kind: str) -> Array:
        """Numbers of ``kind`` (numpy's name); none where the field is left out."""
        place = self._at(field)
        if not place:
            return np.zeros(0, kind)
        place += self._read("I", place)
        return np.frombuffer(self._content, kind, self._read("I", place), place + 4)

    def table(self, field: int) -> _Table:
        place = self._at(field)
        return _Table(self._content, place + self._read("I", place))

    def tables(self, field: int) -> list[_Table]:
        place = self._at(field)
        place += self._read("I", place)
        places = (place + 4 + 4 * number for number in range(self._read("I", place)))
        return [_Table(self._content, each + self._read("I", each)) for each in places]

    def _at(self, field: int) -> int:
        known = 4 + 2 * field < self._read("H", self._fields)
        offset = self._read("H", self._fields + 4 + 2 * field) if known else 0
        return self._place + offset if offset else 0

    def _read(self, kind: str, place: int) -> int:
        return int(struct.unpack_from(f"<{kind}", self._content, place)[0])


@dataclass(frozen=True)
class _Operation:
    """One operator: the tensors it ``takes`` and the one it gives (``to``), by number, and its ``options``."""

    code: int
    takes: list[int]
    to: int
    table: _Table

    @property
    def options(self) -> _Table:
        return self.table.table(4)


def to_onnx(content: bytes) -> bytes:
    """The network as ONNX: brightness [n, 1, side, side] float32 to every output, each flattened [n, size].

    A brightness counts as red, green and blue. Raises ``ValueError``, ``IndexError`` or ``struct.error``: it is no such
    network, or has operators that are not known here.
    """
    model = _Table(content, struct.unpack_from("<I", content)[0])
    # The field of one byte was the only one once, and is what old files have.
    codes = [max(code.number(0, "b"), code.number(3)) for code in model.tables(1)]
    (subgraph, *_), buffers = model.tables(2), model.tables(4)
    shapes, held = [], {}
    for number, tensor in enumerate(subgraph.tables(0)):
        shapes.append(tuple(tensor.array(0, "<i4").tolist()))
        raw = buffers[tensor.number(2, "I")].array(0, "u1")
        if len(raw):
            held[number] = raw.view(TYPES[tensor.number(1, "b")]).reshape(shapes[-1]).astype(np.float32)
    network = _Network(shapes, held, subgraph.array(1, "<i4").tolist()[0])
    for each in subgraph.tables(3):
        takes, gives = (each.array(field, "<i4").tolist() for field in (1, 2))
        network.add(_Operation(codes[each.number(0, "I")], takes, gives[0], each))
    return network.onnx(subgraph.array(2, "<i4").tolist())


class _Network:
    """Writes operation by operation; ``shapes`` are [n, height, width, channels] as TensorFlow has them."""

    def __init__(self, shapes: list[tuple[int, ...]], held: dict[int, Array], taken: int) -> None:
        self._graph, self._shapes, self._held, self._taken = Graph(), shapes, held, taken
        self._names = {taken: "luma"}
        self._writers: dict[int, Callable[[_Operation], str]] = {
            ADD: partial(self._plain, "Add"),
            RELU: partial(self._plain, "Relu"),
            CONCATENATION: partial(self._plain, "Concat", axis=1),
            CONV: self._conv,
            DEPTHWISE: self._conv,
            MAX_POOL: self._pooled,
            PAD: self._padded,
            PRELU: self._bent,
            RESHAPE: self._flat,
        }

    def add(self, operation: _Operation) -> None:
        if operation.code == DEQUANTIZE:
            self._held[operation.to] = self._held[operation.takes[0]]
        elif operation.code in self._writers:
            self._names[operation.to] = self._writers[operation.code](operation)
        else:
            raise ValueError(f"operator {operation.code} is not known")

    def onnx(self, given: list[int]) -> bytes:
        sizes = {self._graph.add("Flatten", self._names[each]): int(np.prod(self._shapes[each])) for each in given}
        return self._graph.model("luma", self._shapes[self._taken][1], sizes)

    def _of(self, operation: _Operation) -> str:
        return self._names[operation.takes[0]]

    def _plain(self, operator: str, operation: _Operation, **attributes: int) -> str:
        return self._graph.add(operator, *(self._names[each] for each in operation.takes), **attributes)

    def _conv(self, operation: _Operation) -> str:
        of, kernel, bias = operation.takes
        each = operation.code == DEPTHWISE
        drawn = self._held[kernel].transpose((3, 0, 1, 2) if each else (0, 3, 1, 2))
        drawn = drawn.sum(axis=1, keepdims=True) if of == self._taken else drawn
        if activation := operation.options.number(4 if each else 3, "b"):
            raise ValueError(f"activation {activation} is not known")
        stride = operation.options.number(2), operation.options.number(1)
        return self._graph.conv(
            self._names[of],
            drawn,
            self._held[bias],
            strides=stride,
            pads=self._pads(operation, drawn.shape[2:], stride),
            group=len(drawn) if each else 1,
        )

    def _pads(self, operation: _Operation, kernel: tuple[int, ...], stride: tuple[int, int]) -> tuple[int, ...]:
        """Above, left, below and right; none where it says so."""
        if operation.options.number(0, "b"):
            return 0, 0, 0, 0
        sides = self._shapes[operation.takes[0]][1:3]
        (top, bottom), (left, right) = map(same_pads, sides, kernel, stride)
        return top, left, bottom, right

    def _bent(self, operation: _Operation) -> str:
        """PReLU: a share of the input and the rest of its positive part, channel by channel.

        As two convolutions of one place, because ONNX Runtime keeps the layout that is fast with AVX through these, and
        through no PRelu: a whole network takes half the time.
        """
        of = self._of(operation)
        slope = self._held[operation.takes[1]].reshape(-1, 1, 1, 1)
        rest = partial(self._graph.conv, kernel=1.0 - slope, group=len(slope))
        relu = partial(self._graph.add, "Relu")
        # A factor that is not negative may come first: the runtime draws both as one.
        positive = relu(rest(of)) if slope.max() <= 1.0 else rest(relu(of))
        return self._graph.add("Add", self._graph.conv(of, slope, group=len(slope)), positive)

    def _padded(self, operation: _Operation) -> str:
        """More channels of zeros after those that are there, by a convolution, for the same reason."""
        more = self._held[operation.takes[1]]
        channels = self._shapes[operation.takes[0]][3]
        if np.any(np.delete(more, -1)):
            raise ValueError("padding of anything but channels after the last is not known")
        wider = np.eye(channels + int(more[3, 1]), channels)[:, :, None, None]
        return self._graph.conv(self._of(operation), wider)

    def _pooled(self, operation: _Operation) -> str:
        options = operation.options
        stride, kernel = ((options.number(2), options.number(1)), (options.number(4), options.number(3)))
        pads = self._pads(operation, kernel, stride)
        return self._graph.add("MaxPool", self._of(operation), kernel_shape=kernel, strides=stride, pads=pads)

    def _flat(self, operation: _Operation) -> str:
        """In TensorFlow's order, channels last; whatever shape is wanted, what comes of it is flattened."""
        return self._graph.add("Flatten", self._graph.add("Transpose", self._of(operation), perm=(0, 2, 3, 1)))
