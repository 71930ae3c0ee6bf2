"""An ONNX model's bytes, out of nodes and arrays: the few fields of onnx.proto that a chain of convolutions needs.

Source: onnx.proto (IR version 8, operator set 13). The package `onnx` writes the same and is no part of what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

IR_VERSION, OPERATORS = 8, 13
FLOAT = 1
"""TensorProto's name of float32."""
INT, INTS = 2, 7
"""AttributeProto's names of what it holds."""


class Graph:
    """Collects the nodes and arrays of a graph; each method gives the name of what it added."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def constant(self, values: ArrayLike) -> str:
        """``values`` as float32."""
        held, name = np.asarray(values, "<f4"), f"constant{len(self._tensors)}"
        shape = b"".join(_number(1, side) for side in held.shape)
        self._tensors.append(shape + _number(2, FLOAT) + _text(8, name) + _bytes(9, held.tobytes()))
        return name

    def add(self, operator: str, *inputs: str, **attributes: int | Sequence[int]) -> str:
        """``operator`` of ``inputs``."""
        name = f"{operator}{len(self._nodes)}"
        written = [_bytes(5, _attribute(key, held)) for key, held in attributes.items()]
        self._nodes.append(
            b"".join([*(_text(1, each) for each in inputs), _text(2, name), _text(4, operator), *written])
        )
        return name

    def conv(self, of: str, kernel: ArrayLike, bias: ArrayLike | None = None, **attributes: int | Sequence[int]) -> str:
        """A convolution by ``kernel`` [out, in, height, width]; each channel by itself with ``group`` = in."""
        arrays = [kernel] if bias is None else [kernel, bias]
        return self.add("Conv", of, *map(self.constant, arrays), **attributes)

    def model(self, taken: str, side_px: int, given: Mapping[str, int]) -> bytes:
        """A ModelProto: of squares ``taken`` [n, 1, side, side] each of ``given`` [n, so many], in that order."""
        outputs = [_bytes(12, _value(name, ("n", size))) for name, size in given.items()]
        graph = b"".join(
            [
                *(_bytes(1, each) for each in self._nodes),
                _text(2, "graph"),
                *(_bytes(5, each) for each in self._tensors),
                _bytes(11, _value(taken, ("n", 1, side_px, side_px))),
                *outputs,
            ]
        )
        return _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, OPERATORS))


def same_pads(side: int, kernel: int, stride: int) -> tuple[int, int]:
    """What TensorFlow's "same" adds before and after a ``side``: one more after where it is odd."""
    outside = max((-(-side // stride) - 1) * stride + kernel - side, 0)
    return outside // 2, outside - outside // 2


def _value(name: str, shape: Sequence[str | int]) -> bytes:
    """A ValueInfoProto of float32; a side that may vary has a name."""
    sides = b"".join(_bytes(1, _number(1, side) if isinstance(side, int) else _text(2, side)) for side in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, FLOAT) + _bytes(2, sides)))


def _attribute(name: str, held: int | Sequence[int]) -> bytes:
    if isinstance(held, int):
        return _text(1, name) + _number(3, held) + _number(20, INT)
    return _text(1, name) + b"".join(_number(8, each) for each in held) + _number(20, INTS)


def _number(field: int, held: int) -> bytes:
    return _varint(field << 3) + _varint(held)


def _text(field: int, held: str) -> bytes:
    return _bytes(field, held.encode())


def _bytes(field: int, held: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(held)) + held


def _varint(held: int) -> bytes:
    written = []
    while held > 0x7F:
        written.append(held & 0x7F | 0x80)
        held >>= 7
    return bytes([*written, held])
