import pytest
from pydantic import ValidationError

from apportion.decompose.language_models import asker_of
from apportion.decompose.method_settings import InfluenceSettings
from apportion.decompose.settings import DecomposeSettings, MixSettings
from apportion.foundation.errors import UnitError
from apportion.llm_client.request import ChatMessage, ChatRequest
from tests.llm_client.openai_server import Fault, OpenAIServer, serving


def test_every_knob_says_what_it_is():
    def described(model):
        for name, field in model.model_fields.items():
            if hasattr(field.annotation, "model_fields"):
                described(field.annotation)
            else:
                assert field.description, name

    described(DecomposeSettings)


def test_a_request_that_does_not_fit_is_told_with_the_key_that_parts_dialogues():
    fault = Fault(400, "maximum context length is 10 tokens", "context_length_exceeded")
    with serving(OpenAIServer(answer=lambda body: fault)) as server:
        settings = DecomposeSettings(llm={"base_url": server.url, "max_retries": 0})
        with asker_of(settings) as asker, pytest.raises(UnitError, match=r"decompose\.llm\.context_tokens says"):
            asker.complete(ChatRequest("m", (ChatMessage("user", "?"),)))


def test_folders_and_files_are_found_from_the_configuration(tmp_path):
    (tmp_path / "model").mkdir()
    found = InfluenceSettings(model="model", tokenizer="some/name", intents="in.jsonl").found_from(tmp_path)
    assert found.model == str(tmp_path / "model") and found.tokenizer == "some/name"
    assert found.intents == tmp_path / "in.jsonl"
    assert InfluenceSettings().found_from(tmp_path) == InfluenceSettings()
    assert {"model": "model", "tokenizer": "some/name", "intents": "in.jsonl"}.items() <= found.shown().items()


def test_a_model_and_a_file_count_by_what_they_hold(tmp_path):
    for name in ("one", "same", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(name if name == "other" else "x")
    keys = [InfluenceSettings(model=str(tmp_path / n)).identity(served=False) for n in ("one", "same", "other")]
    assert keys[0] == keys[1] != keys[2]
    path = tmp_path / "in.jsonl"
    missing = InfluenceSettings(intents=path).identity(served=True)
    path.write_text("{}")
    assert missing["intents"] == "" != InfluenceSettings(intents=path).identity(served=True)["intents"]


def test_what_one_of_the_methods_does_not_read_is_not_in_its_key():
    here, there = InfluenceSettings(endpoint="completions"), InfluenceSettings(model="m", dtype="bfloat16")
    assert here.identity(served=False) == InfluenceSettings().identity(served=False)
    assert there.identity(served=True) == InfluenceSettings().identity(served=True)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"method": "sentimnt", "compare": ("uniform",)},
            "no decomposition method 'sentimnt'; did you mean 'sentiment'",
        ),
        ({"method": "uniform", "compare": ("rrd", "rrd")}, "name each method once"),
        ({"method": "reaction-llm", "compare": ("reaction",)}, "reaction-llm reads what llm has judged; add llm"),
        ({"components": ["reaction", "lllm"]}, "'lllm' is no component; did you mean 'llm'"),
        ({"components": ["rrd"]}, "'rrd' is no component"),
        ({"components": ["llm", "llm"]}, "llm, llm: name each component once"),
        ({"components": []}, "at least 1 item"),
        ({"reaction": {"recency_weights": (9.0,)}}, "9 is not from 0 to 8"),
        ({"weights": {"affect": 1.0}}, r"weights: 'affect' is not among components \(reaction, .*add it there"),
        ({"weights": {"llm": -1.0}}, "weights: llm = -1 is not from 0 to 1e6"),
        ({"weights": {"llm": float("nan")}}, "finite number"),
        ({"weights": {"llm": 0.0}}, "none is above 0; leave weights out"),
    ],
)
def test_what_cannot_be_mixed_is_refused(given, says):
    with pytest.raises(ValidationError, match=says):
        DecomposeSettings(**(given if {"method", "reaction"} & given.keys() else {"stacking": given}))


def test_any_method_that_judges_may_be_a_source():
    found = DecomposeSettings(stacking={"components": ["affect", "llm-multimodal"], "weights": {"affect": 2}})
    assert found.stacking == MixSettings(components=("affect", "llm-multimodal"), weights={"affect": 2.0})
