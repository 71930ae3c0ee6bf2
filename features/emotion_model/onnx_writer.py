"""An ONNX model's bytes, out of nodes and arrays: the few fields of onnx.proto that a chain of convolutions needs.

Source: onnx.proto (IR version 8, operator set 13). The package `onnx` writes the same and is no part of what runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

IR_VERSION, OPERATORS = 8, 13
FLOAT = 1
"""TensorProto's name of float32."""
INT, INTS = 2, 7
"""AttributeProto's names of what it holds."""
Attributes = Mapping[str, int | Sequence[int]]


def node(operator: str, inputs: Sequence[str], output: str, attributes: Attributes | None = None) -> bytes:
    """A NodeProto: ``operator`` of ``inputs`` gives ``output``."""
    written = [_bytes(5, _attribute(name, value)) for name, value in (attributes or {}).items()]
    return b"".join([*(_text(1, name) for name in inputs), _text(2, output), _text(4, operator), *written])


def tensor(name: str, values: NDArray[np.float32]) -> bytes:
    """A TensorProto that holds ``values`` as float32."""
    shape = b"".join(_number(1, side) for side in values.shape)
    return shape + _number(2, FLOAT) + _text(8, name) + _bytes(9, np.ascontiguousarray(values, "<f4").tobytes())


def value(name: str, shape: Sequence[str | int]) -> bytes:
    """A ValueInfoProto of float32: an input or output of the graph; a side that may vary has a name."""
    sides = b"".join(_bytes(1, _number(1, side) if isinstance(side, int) else _text(2, side)) for side in shape)
    kind = _bytes(1, _number(1, FLOAT) + _bytes(2, sides))
    return _text(1, name) + _bytes(2, kind)


def model(nodes: Iterable[bytes], tensors: Iterable[bytes], taken: bytes, given: bytes) -> bytes:
    """A ModelProto with one input and one output."""
    graph = b"".join(
        [
            *(_bytes(1, each) for each in nodes),
            _text(2, "graph"),
            *(_bytes(5, each) for each in tensors),
            _bytes(11, taken),
            _bytes(12, given),
        ]
    )
    return _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, OPERATORS))


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
