"""What an ONNX file refers to outside itself, read from its bytes without running or loading anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

MAX_DEPTH = 64
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protobuf; the two others are groups, which ONNX does not use."""
WIDTH = {FIXED64: 8, FIXED32: 4}

CHILDREN: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""Field number to the message in it, for the messages of onnx.proto through which a tensor can be reached."""
GRAPH, OP_TYPE, EXTERNAL_DATA, DATA_LOCATION = 7, 4, 13, 14
"""Fields of ModelProto, NodeProto, TensorProto and TensorProto."""
EXTERNAL = 1


class NotOnnxError(ValueError):
    """The bytes are no ONNX model."""


def outside_references(content: bytes) -> list[str]:
    """Names of the files that a model would have read besides its own: tensor data kept elsewhere, engine caches.

    Raises ``NotOnnxError`` where ``content`` is no ONNX model. Source: onnx.proto, ModelProto of IR version 3 and on.
    """
    view = memoryview(content)
    if not any(number == GRAPH and isinstance(value, memoryview) for number, value in _fields(view)):
        raise NotOnnxError("it holds no graph")
    return list(dict.fromkeys(_references("model", view, 0)))


def _references(message: str, view: memoryview, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise NotOnnxError(f"its graphs are nested more than {MAX_DEPTH} deep")
    location, external = "?", False
    for number, value in _fields(view):
        if isinstance(value, int):
            external |= message == "tensor" and number == DATA_LOCATION and value == EXTERNAL
        elif number in CHILDREN[message]:
            yield from _references(CHILDREN[message][number], value, depth + 1)
        elif message == "node" and number == OP_TYPE and bytes(value) == b"EPContext":
            # Such a node names an engine file for one accelerator.
            yield "EPContext"
        elif message == "tensor" and number == EXTERNAL_DATA:
            entry = {key: bytes(text) for key, text in _fields(value) if isinstance(text, memoryview)}
            if entry.get(1) == b"location":
                location = entry.get(2, b"?").decode("utf-8", "replace")
    if external:
        yield location


def _fields(view: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Field numbers and values of one message: a number, or the bytes of a text or message."""
    position = 0
    while position < len(view):
        tag, position = _varint(view, position)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, position = _varint(view, position)
            yield number, value
            continue
        if wire == BYTES:
            width, position = _varint(view, position)
        elif wire in WIDTH:
            width = WIDTH[wire]
        else:
            raise NotOnnxError(f"byte {position} is no protobuf")
        if position + width > len(view):
            raise NotOnnxError("it ends in the middle")
        yield number, view[position : position + width]
        position += width


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(view):
            raise NotOnnxError("it ends in the middle")
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise NotOnnxError(f"byte {position} is no protobuf")
