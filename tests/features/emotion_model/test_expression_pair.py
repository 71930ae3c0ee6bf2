"""face-api's network against torch's layers, what is written for it against onnx, and the mean of the two networks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch.nn import functional

from apportion.features.emotion_model import expression_pair as pair_file
from apportion.features.emotion_model.expression_pair import PAIR, ExpressionPair, face_square
from apportion.features.emotion_model.face_api import MEAN, ORDER, SIDE_PX, FaceApi, read_arrays, to_onnx
from apportion.features.registry import EMOTIONS
from apportion.foundation.errors import InputError
from tests.features.face.mesh.networks_here import FOUND

CHANNELS = (3, 32, 64, 128, 256)
FACES = np.random.default_rng(1).integers(0, 256, (2, SIDE_PX, SIDE_PX), dtype=np.uint8)


def shapes() -> dict[str, tuple[int, ...]]:
    """Of the published network's arrays, in their order."""
    found: dict[str, tuple[int, ...]] = {}
    for block in range(4):
        into, out = CHANNELS[block : block + 2]
        for number in range(4):
            name, wide = f"dense{block}/conv{number}", into if number == 0 else out
            if block == number == 0:
                found[f"{name}/filters"] = (3, 3, into, out)
            else:
                found[f"{name}/depthwise_filter"] = (3, 3, wide, 1)
                found[f"{name}/pointwise_filter"] = (1, 1, wide, out)
            found[f"{name}/bias"] = (out,)
    return found | {"fc/weights": (256, 7), "fc/bias": (7,)}


def written(folder: Path, seed: int = 0) -> tuple[Path, Path]:
    """A network of random weights as TensorFlow.js has it: biases as float32, all else in a byte."""
    rng, values, listed = np.random.default_rng(seed), b"", []
    for name, shape in shapes().items():
        count = int(np.prod(shape))
        entry = {"name": name, "shape": shape, "dtype": "float32"}
        if name.endswith("bias"):
            values += rng.normal(0, 0.1, count).astype("<f4").tobytes()
        else:
            half = 2.0 / np.sqrt(count / shape[-1])
            entry["quantization"] = {"dtype": "uint8", "scale": 2 * half / 255, "min": -half}
            values += rng.integers(0, 256, count, dtype=np.uint8).tobytes()
        listed.append(entry)
    places = folder / PAIR[0], folder / PAIR[1]
    places[0].write_bytes(values)
    places[1].write_text(json.dumps([{"weights": listed, "paths": [PAIR[0]]}]))
    return places


def by_torch(arrays: dict[str, np.ndarray], faces: np.ndarray) -> np.ndarray:
    """The same network by torch in float64, after TensorFlow's rules."""
    found = {name: torch.tensor(array, dtype=torch.float64) for name, array in arrays.items()}

    def conv(x, name, stride):
        x = functional.pad(x, (0, 1, 0, 1) if stride == 2 else (1, 1, 1, 1))
        if f"{name}/filters" in found:
            return functional.conv2d(x, found[f"{name}/filters"].permute(3, 2, 0, 1), found[f"{name}/bias"], stride)
        depth = found[f"{name}/depthwise_filter"].permute(2, 3, 0, 1)
        x = functional.conv2d(x, depth, None, stride, groups=len(depth))
        return functional.conv2d(x, found[f"{name}/pointwise_filter"].permute(3, 2, 0, 1), found[f"{name}/bias"])

    grey = torch.tensor(faces, dtype=torch.float64)[:, None].expand(-1, 3, -1, -1)
    x = (grey - torch.tensor(MEAN, dtype=torch.float64)[:, None, None]) / 255
    for block in range(4):
        outs = [functional.relu(conv(x, f"dense{block}/conv0", 2))]
        for number in (1, 2, 3):
            # The first is taken as it is: it is no sum.
            before = outs[0] if number == 1 else functional.relu(sum(outs))
            outs.append(conv(before, f"dense{block}/conv{number}", 1))
        x = functional.relu(sum(outs))
    return (x.mean((2, 3)) @ found["fc/weights"] + found["fc/bias"]).numpy()


def test_the_network_is_torch_s(tmp_path: Path) -> None:
    values, listed = written(tmp_path)
    arrays = read_arrays(values.read_bytes(), listed.read_text())
    assert {name: array.shape for name, array in arrays.items()} == shapes()
    logits = FaceApi(values, listed).logits(FACES)
    assert logits.shape == (2, len(ORDER)) and np.ptp(logits) > 0.1
    np.testing.assert_allclose(logits, by_torch(arrays, FACES), atol=1e-5)


def test_what_is_written_is_a_model_by_onnx_s_own_rules(tmp_path: Path) -> None:
    values, listed = written(tmp_path)
    arrays = read_arrays(values.read_bytes(), listed.read_text())
    model = onnx.load_from_string(to_onnx(arrays))
    onnx.checker.check_model(model, full_check=True)
    assert [side.dim_value for side in model.graph.input[0].type.tensor_type.shape.dim] == [0, 1, SIDE_PX, SIDE_PX]
    assert sum(np.prod(each.dims) for each in model.graph.initializer) == 323_687 + 3 + 1


@pytest.mark.skipif(FOUND is None, reason="the face mesh is not here: apportion models fetch mesh")
def test_the_published_network_is_torch_s() -> None:
    assert FOUND is not None
    values, listed = (FOUND / name for name in PAIR[:2])
    arrays = read_arrays(values.read_bytes(), listed.read_text())
    assert (len(arrays), sum(array.size for array in arrays.values())) == (49, 323_687)
    np.testing.assert_allclose(FaceApi(values, listed).logits(FACES), by_torch(arrays, FACES), atol=5e-5)


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        (b"x", '[{"weights": []}]'),
        (b"", "no JSON"),
        (b"", '[{"weights": [{"name": "a", "shape": [2]}]}]'),
        (b"", '[{"weights": []}]'),
        (b"", "[{}]"),
    ],
    ids=["too long", "no list", "too short", "without its layers", "without weights"],
)
def test_files_that_are_no_network_are_told(tmp_path: Path, values: bytes, listed: str) -> None:
    (tmp_path / PAIR[0]).write_bytes(values)
    (tmp_path / PAIR[1]).write_text(listed)
    with pytest.raises(InputError, match=r"face_expression_model\.bin: no network of face-api \(.*models fetch mesh"):
        FaceApi(tmp_path / PAIR[0], tmp_path / PAIR[1])


class Told:
    """Stands for a network: tells the same of every face, and remembers how many it saw."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers
        self.seen: list[tuple[int, ...]] = []

    def logits(self, faces: np.ndarray) -> np.ndarray:
        self.seen.append(faces.shape)
        return np.tile(self._numbers, (len(faces), 1))

    def probabilities(self, face: np.ndarray) -> np.ndarray:
        self.seen.append(face.shape)
        return self._numbers


def test_the_pair_is_the_plain_mean_and_does_not_know_contempt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = Told(np.log([0.1, 0.4, 0.1, 0.1, 0.1, 0.1, 0.1])), Told(np.array([0, 0, 0, 0.2, 0.8, 0, 0]))
    monkeypatch.setattr(pair_file, "FaceApi", lambda *_: first)
    monkeypatch.setattr(pair_file, "MiniXception", lambda *_: second)
    pair, points = ExpressionPair(tmp_path), np.array([[10.0, 10.0, 0.0], [40.0, 60.0, 0.0]])
    told = dict(zip(EMOTIONS, pair.probabilities(np.zeros((80, 80), np.uint8), points).tolist(), strict=True))
    assert np.isnan(told.pop("contempt")) and sum(told.values()) == pytest.approx(1.0)
    assert told == pytest.approx(
        {"anger": 0.05, "disgust": 0.05, "fear": 0.05, "happiness": 0.3, "neutral": 0.05, "sadness": 0.45,
         "surprise": 0.05}
    )  # fmt: skip
    assert first.seen == [(3, 112, 112)] and second.seen == [(64, 64)]
    odds, calm = pair.at_one_look(np.zeros((80, 80), np.uint8), points)
    assert (odds, calm) == (pytest.approx(np.log(0.4 / 0.6)), pytest.approx(0.5))


def test_a_face_at_the_edge_of_the_picture_keeps_its_size() -> None:
    luma = np.tile(np.arange(100, dtype=np.uint8), (80, 1))
    face = face_square(luma, np.array([[70.0, 10.0, 0.0], [99.0, 60.0, 0.0]]), 1.2, 64)
    assert face.shape == (64, 64)
    # 60 pixels wide around the middle, 84.5: the left column is 54.5, and what lies right of the picture is its border.
    assert abs(int(face[0, 0]) - 54.5) <= 1 and face[0, -1] == 99
