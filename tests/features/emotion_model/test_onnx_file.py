from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from apportion.features.emotion_model.network import NotOnnxError, outside_references
from tests.features.emotion_models import graph, save


def external(name: str, location: str) -> TensorProto:
    tensor = numpy_helper.from_array(np.zeros(2, np.float32), name)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="offset", value="0")
    tensor.external_data.add(key="location", value=location)
    return tensor


def test_a_plain_model_refers_to_nothing_and_an_engine_cache_is_a_reference(tmp_path: Path) -> None:
    assert outside_references(save(tmp_path / "m.onnx", graph()).read_bytes()) == []
    node = helper.make_node(
        "EPContext", [], ["y"], domain="com.microsoft", ep_cache_context="../engine.bin", embed_mode=0
    )
    assert outside_references(save(tmp_path / "m.onnx", graph(nodes=[node])).read_bytes()) == ["EPContext"]


def test_a_tensor_elsewhere_is_found_wherever_it_hides(tmp_path: Path) -> None:
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=external("c", "../inner.bin"))], "inner", [], []
    )
    node = helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner)
    made = graph(nodes=[node])
    made.initializer.append(external("w", "weights.bin"))
    made.sparse_initializer.append(
        helper.make_sparse_tensor(external("v", "/etc/passwd"), numpy_helper.from_array(np.zeros(2, np.int64)), [2])
    )
    found = outside_references(save(tmp_path / "m.onnx", made).read_bytes())
    assert sorted(found) == ["../inner.bin", "/etc/passwd", "weights.bin"]


def test_graphs_without_end_are_refused() -> None:
    content = b""
    for _ in range(200):  # graph(node(attribute(graph ...
        for tag in (b"\x32", b"\x2a", b"\x0a"):
            size, length = len(content), b""
            while size >= 0x80:
                length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
            content = tag + length + bytes([size]) + content
    size, length = len(content), b""
    while size >= 0x80:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    with pytest.raises(NotOnnxError, match="nested"):
        outside_references(b"\x3a" + length + bytes([size]) + content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no graph"),
        (b"\x08\x07", "no graph"),
        (b"\x3a\x05ab", "ends in the middle"),
        (b"\x3a", "ends in the middle"),
        (b"\x0b", "no protobuf"),
        (b"\xff" * 12, "no protobuf"),
    ],
)
def test_what_is_no_model_says_why(content: bytes, message: str) -> None:
    with pytest.raises(NotOnnxError, match=message):
        outside_references(content)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        found = outside_references(b"\x3a\x02\x0a\x00" + content)
    except NotOnnxError:
        return
    assert all(isinstance(name, str) for name in found)
