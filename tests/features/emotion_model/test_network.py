"""Every step between a face and its eight probabilities, against numpy, and every file that is refused."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from apportion.features.emotion_model import network as emotion
from apportion.features.emotion_model.network import CPU, EMOTIONS, EmotionModel, emotion_model
from apportion.foundation.errors import InputError, UnitError
from tests.features.emotion_models import BIAS, WEIGHTS, graph, logits, save, small_model, softmax
from tests.shared import shared

COLOR = (200, 120, 40)


def face(color: tuple[int, int, int] = COLOR, height: int = 50, width: int = 40) -> np.ndarray:
    return np.full((height, width, 3), color, np.uint8)


def with_sidecar(path: Path, **fields: object) -> Path:
    path.with_name(f"{path.name}.json").write_text(json.dumps(fields))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return small_model(tmp_path / "m.onnx")


ORDER = ("neutral", *(name for name in reversed(EMOTIONS) if name != "neutral"))
MEAN, STD = (0.1, 0.2, 0.3), (1.0, 0.5, 0.25)


@pytest.mark.parametrize(
    ("outputs", "sidecar", "expected", "order"),
    [
        (8, {}, logits(COLOR), EMOTIONS),
        (10, {}, logits(COLOR), EMOTIONS),  # valence and arousal are dropped before the softmax
        (8, {"color": "bgr"}, logits(COLOR[::-1]), EMOTIONS),
        (8, {"mean": MEAN, "std": STD}, logits(COLOR, MEAN, STD), EMOTIONS),
        (8, {"order": [name.title() for name in ORDER]}, logits(COLOR), ORDER),
    ],
)
def test_a_face_becomes_what_numpy_says(tmp_path: Path, outputs: int, sidecar: dict, expected, order) -> None:
    model = with_sidecar(small_model(tmp_path / "m.onnx", outputs=outputs), **sidecar)
    found = EmotionModel.load(model).probabilities(face())
    assert found.dtype == np.float32 and found.shape == (8,)
    told = dict(zip(order, softmax(expected[:8]), strict=True))
    np.testing.assert_allclose(found, [told[name] for name in EMOTIONS], atol=1e-5)


def test_outputs_that_are_probabilities_already_are_taken_as_they_are(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceMean", ["face"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Gemm", ["mean", "weights", "bias"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["emotions"]),
    ]
    path = with_sidecar(small_model(tmp_path / "p.onnx", nodes=nodes), softmax=False)
    np.testing.assert_allclose(EmotionModel.load(path).probabilities(face()), softmax(logits(COLOR)[:8]), atol=1e-5)


def test_the_face_is_stretched_to_the_square_and_logits_called_probabilities_are_refused(
    model: Path, tmp_path: Path
) -> None:
    loaded = EmotionModel.load(with_sidecar(model, softmax=False))
    with pytest.raises(UnitError, match=r"m\.onnx: the outputs are no probabilities .* Set it to true"):
        loaded.probabilities(face())
    # Half red, half blue, three times as wide as high: both halves weigh the same.
    wide = np.concatenate([face((255, 0, 0), 30, 45), face((0, 0, 255), 30, 45)], axis=1)
    found = EmotionModel.load(small_model(tmp_path / "other.onnx")).probabilities(wide)
    np.testing.assert_allclose(found, softmax(logits((127.5, 0, 127.5))[:8]), atol=1e-3)  # type: ignore[arg-type]


def test_a_network_that_gives_no_number(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceMean", ["face"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Log", ["mean"], ["log"]),
        helper.make_node("Gemm", ["log", "weights", "bias"], ["emotions"]),
    ]
    loaded = EmotionModel.load(small_model(tmp_path / "nan.onnx", nodes=nodes))
    with pytest.raises(UnitError, match="not finite"):
        loaded.probabilities(face((0, 0, 0)))


@pytest.mark.parametrize(
    ("shape", "sidecar", "side"),
    [
        (("n", 3, 48, 48), {}, 48),
        ((1, 3, 48, 48), {"input_px": 48}, 48),
        (("n", 3, "h", "w"), {"input_px": 260}, 260),
        (("n", 3, "h", "w"), {}, 224),
        (("n", 3, 64, "w"), {}, 64),
    ],
)
def test_the_side_of_the_input(tmp_path: Path, shape: tuple, sidecar: dict, side: int) -> None:
    path = with_sidecar(small_model(tmp_path / "m.onnx", shape=shape), **sidecar)
    loaded = EmotionModel.load(path)
    assert loaded.input_px == side
    np.testing.assert_allclose(loaded.probabilities(face()), softmax(logits(COLOR)[:8]), atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(height=st.integers(1, 300), width=st.integers(1, 300), seed=st.integers(0, 2**16))
def test_any_face_gives_probabilities(
    tmp_path_factory: pytest.TempPathFactory, height: int, width: int, seed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.onnx"
    loaded = emotion_model(path if path.exists() else small_model(path))
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    found = loaded.probabilities(picture)
    assert found.min() >= 0 and found.sum() == pytest.approx(1.0, abs=1e-5)
    # A view that is not contiguous (a crop) gives the same.
    assert np.array_equal(loaded.probabilities(np.asfortranarray(picture)), found)


@pytest.mark.parametrize(
    "bad",
    [np.zeros((0, 5, 3), np.uint8), np.zeros((5, 5), np.uint8), np.zeros((5, 5, 4), np.uint8), np.zeros((5, 5, 3))],
)
def test_what_is_no_face_is_refused(model: Path, bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="uint8"):
        EmotionModel.load(model).probabilities(bad)


def test_the_real_architecture_loads_and_gives_probabilities() -> None:
    loaded = EmotionModel.load(shared("models/RANDOMWEIGHTS_enet_b0_8.onnx"))
    assert loaded.input_px == 224
    assert loaded.probabilities(face()).sum() == pytest.approx(1.0, abs=1e-5)


def test_a_loaded_model_is_kept_until_its_files_change(model: Path) -> None:
    first = emotion_model(model)
    assert emotion_model(model) is first
    with_sidecar(model, color="bgr")
    assert emotion_model(model) is not first


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": 7}, r"m\.onnx: gives .*7\]\. An emotion model gives 8 numbers a face, or 10"),
        ({"outputs": 9}, "8 numbers a face"),
        ({"inputs": 2}, "2 inputs and 1 outputs"),
        ({"shape": ("n", 1, 32, 32)}, r"takes .* \[1, 3, side, side\] is needed"),
        ({"shape": (4, 3, 32, 32)}, r"takes \[4, 3, 32, 32\]"),
        ({"shape": ("n", 3, 32, 48)}, "48 x 32 px; a square"),
        ({"kind": TensorProto.FLOAT16}, r"face is tensor\(float16\); float32 is needed"),
        ({"kind": TensorProto.DOUBLE}, r"tensor\(double\)"),
    ],
)
def test_a_model_of_another_kind_is_refused(tmp_path: Path, changes: dict, message: str) -> None:
    path = small_model(tmp_path / "m.onnx", **changes)
    with pytest.raises(InputError, match=message):
        EmotionModel.load(path)


def test_a_side_an_operator_or_a_provider_that_cannot_be_is_refused(model: Path, tmp_path: Path) -> None:
    node = helper.make_node("Gemm", ["face", "weights", "bias"], ["emotions"], domain="evil.example")
    with pytest.raises(InputError, match="ONNX Runtime cannot load it"):
        EmotionModel.load(save(tmp_path / "evil.onnx", graph(nodes=[node]), "evil.example"))
    with pytest.raises(InputError, match=r"'TpuExecutionProvider': ONNX Runtime has .*CPUExecutionProvider"):
        EmotionModel.load(model, ["TpuExecutionProvider"])
    assert EmotionModel.load(model, [CPU]).provider == CPU
    with pytest.raises(InputError, match=r"m\.onnx\.json: input_px = 64, but the model takes 32"):
        EmotionModel.load(with_sidecar(model, input_px=64))


def test_a_shape_that_is_promised_and_not_kept(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceMean", ["face"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Identity", ["mean"], ["emotions"]),
    ]
    made = graph(nodes=nodes)
    made.output[0].type.tensor_type.ClearField("shape")
    with pytest.raises(InputError, match=r"gives \[1\] numbers for one face"):
        EmotionModel.load(save(tmp_path / "m.onnx", made))


def test_a_network_that_fails_on_the_size_names_the_sidecar(tmp_path: Path) -> None:
    target = numpy_helper.from_array(np.array([1, 3, 100, 100]), "target")
    nodes = [
        helper.make_node("Reshape", ["face", "target"], ["same"]),
        helper.make_node("ReduceMean", ["same"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Gemm", ["mean", "weights", "bias"], ["emotions"]),
    ]
    tensors = [
        target,
        numpy_helper.from_array(WEIGHTS[:, :8].copy(), "weights"),
        numpy_helper.from_array(BIAS[:8].copy(), "bias"),
    ]
    path = small_model(tmp_path / "m.onnx", shape=("n", 3, "h", "w"), nodes=nodes, tensors=tensors)
    with pytest.raises(InputError, match=r"fails on a picture of 224 x 224 px .*input_px"):
        EmotionModel.load(path)
    assert EmotionModel.load(with_sidecar(path, input_px=100)).input_px == 100


def test_tensors_in_other_files_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\0" * 96)
    for location in ("weights.bin", "../../etc/passwd", "/etc/passwd"):
        made = graph()
        tensor = made.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
        with pytest.raises(InputError, match=rf"other files \('{location}'\), which are not followed"):
            EmotionModel.load(save(tmp_path / "m.onnx", made))


def test_files_that_are_no_model(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"none\.onnx: no such emotion model.*apportion models fetch emotion"):
        EmotionModel.load(tmp_path / "none.onnx")
    with pytest.raises(InputError, match="cannot be read"):
        EmotionModel.load(tmp_path)
    for content in (b"", b"hello, this is text\n" * 50, b"\x89PNG\r\n\x1a\n", model.read_bytes()[:-100]):
        bad = tmp_path / "bad.onnx"
        bad.write_bytes(content)
        with pytest.raises(InputError, match=r"bad\.onnx: not an ONNX model"):
            EmotionModel.load(bad)
    monkeypatch.setattr(emotion, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="at most"):
        EmotionModel.load(model)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(model: Path) -> None:
    model.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        EmotionModel.load(model)


def test_damage_inside_the_file_is_an_input_error(model: Path) -> None:
    """Every byte of the file changed, one at a time: a model that works, or words; never anything else."""
    content = model.read_bytes()
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        model.write_bytes(bytes(damaged))
        try:
            EmotionModel.load(model)
        except InputError as error:
            assert "m.onnx" in str(error)


def test_without_onnxruntime_the_way_to_it_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"ONNX Runtime cannot be loaded .*docs/guides/install\.md"):
        EmotionModel.load(model)


class Sessions:
    """ONNX Runtime as it would be with CUDA built in and its libraries missing."""

    def __init__(self, fails: bool) -> None:
        self.fails, self.asked = fails, []
        self.real = onnxruntime.InferenceSession

    def __call__(self, content: bytes, options: object, providers: list[str], enable_fallback: int) -> object:
        self.asked.append(providers[0])
        if providers[0] != CPU and self.fails:
            raise RuntimeError("libcudnn.so.9: cannot open shared object file\nmore")
        return self.real(content, options, providers=[CPU], enable_fallback=enable_fallback)


@pytest.mark.parametrize(("fails", "reason"), [(True, "libcudnn.so.9"), (False, "did not load")])
def test_a_provider_that_fails_gives_way_to_the_cpu_with_one_warning(
    model: Path, fails: bool, reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sessions = Sessions(fails)
    emotion._warn_once.cache_clear()
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider", CPU])
    monkeypatch.setattr(onnxruntime, "InferenceSession", sessions)
    with caplog.at_level(logging.WARNING, "apportion"):
        loaded = [EmotionModel.load(model) for _ in range(3)]
    assert sessions.asked == ["CUDAExecutionProvider", CPU] * 3
    assert all(one.provider == CPU for one in loaded)
    (record,) = caplog.records
    assert "CPUExecutionProvider is used, not CUDAExecutionProvider" in record.message and reason in record.message
