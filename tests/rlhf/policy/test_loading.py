import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.loading import Policy, cannot_load, check_device, check_whole, load_policy, without_dropout
from apportion.rlhf.policy_settings import Placement
from tests.rlhf.hub import hub
from tests.rlhf.toy import SMALL, small_policy


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    policy = small_policy()
    policy.model.save_pretrained(tmp_path / "model")
    policy.tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def load(name: Path | str, **changes) -> Policy:
    settings = SMALL.model_copy(update=changes)
    return load_policy(str(name), settings.window, settings.placement)


def test_a_folder_gives_the_policy_that_was_saved_in_it(saved):
    policy, same = load(saved), small_policy()
    assert policy.eos_ids == same.eos_ids and policy.pad_id == same.pad_id
    for one, two in zip(policy.model.state_dict().values(), same.model.state_dict().values(), strict=True):
        assert torch.equal(one, two)


def test_the_frozen_weights_can_be_halved(saved):
    assert load(saved, dtype="bfloat16").model.dtype == torch.bfloat16


def test_a_turn_ends_with_any_of_the_models_own_end_tokens(saved):
    (saved / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 2], "top_p": 0.9}))
    policy = load(saved)
    assert policy.eos_ids == (7, 2)
    assert policy.model.generation_config.top_p is None


def test_a_missing_folder(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["x" * 5000, "~nobody-of-this-name/policy"])
def test_a_name_that_no_folder_can_have(name):
    with pytest.raises(InputError, match=r"cannot be looked at .*File name too long|no such folder"):
        check_whole(name)


def _pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")


NO_CAUSAL = "not a causal language model that transformers can load"


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_pickled, "no safetensors weights, and pickled ones are not loaded"),
        (lambda folder: (folder / "chat_template.jinja").unlink(), r"no chat template.*chat or instruct variant"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "t5"}'), NO_CAUSAL),
        (lambda folder: (folder / "config.json").write_text("not json"), NO_CAUSAL),
        (
            lambda folder: (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": "wide"}'),
            NO_CAUSAL,
        ),
    ],
)
def test_a_folder_that_is_no_policy(saved, damage, told):
    damage(saved)
    with pytest.raises(InputError, match=told):
        load(saved)


def test_a_window_longer_than_the_model_reads(saved):
    with pytest.raises(InputError, match=r"at most 128 tokens; max_context_tokens \+ max_new_tokens = 206"):
        load(saved, max_context_tokens=200)


def test_a_long_cause_is_cut_between_words(saved):
    told = cannot_load("m", ValueError("word " * 100))
    assert told.endswith("word word … Choose another, or tiny.") and len(told) < 400


def test_code_that_comes_with_a_model_is_not_run(saved):
    config = json.loads((saved / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}}
    (saved / "config.json").write_text(json.dumps(config))
    (saved / "mine.py").write_text("raise SystemExit('ran')")
    with pytest.raises(InputError, match="not a causal language model that transformers can load"):
        load(saved)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a CUDA device")
def test_a_device_that_is_not_there():
    with pytest.raises(InputError, match="--device = 'cuda': torch sees no CUDA device"):
        check_device(Placement(device="cuda"), "--device")


# Offline by its own switch: without a network the client tries for the better part of a minute before it says so.
ASK = """
import sys
from huggingface_hub import constants
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.loading import cannot_load, load_policy
from apportion.rlhf.policy_settings import Placement, Window
for name in sys.argv[1:]:
    constants.HF_HUB_OFFLINE = name == sys.argv[-1]
    try:
        load_policy(name, Window(), Placement())
    except InputError as error:
        print(error)
"""


def ask_hub(address: str, cache: Path, *names: str) -> list[str]:
    """What is said of each model; the last one is asked for without a network."""
    environment = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "0"}
    environment |= {"PYTHONPATH": os.getcwd(), "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}  # noqa: PTH109
    run = subprocess.run([sys.executable, "-c", ASK, *names], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.slow
def test_the_hub_says_unknown_gated_or_nothing(tmp_path):
    with hub() as address:
        said = ask_hub(address, tmp_path, "some/unknown-model", "some/gated-model", "some/model")
    unknown, gated, unreachable = said
    assert "the Hugging Face Hub has no such model" in unknown and "'some/unknown-model'" in unknown
    assert "the model is gated" in gated and "HF_TOKEN" in gated
    assert "cannot be reached" in unreachable and "tiny" in unreachable


LACKING = {
    "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}": "lacks the role assistant",
    "{% for m in messages if m.role == 'assistant' %}{{ m.content }}{% endfor %}": "the role user",
    "{{ raise_exception('only system and user roles') }}": "cannot show a dialogue of user and assistant: only system",
    "{{ messages[-1]['content'] }}": "lacks the role user: what that side says is left out",
}  # fmt: skip


@pytest.mark.parametrize("template", LACKING)
def test_a_chat_template_that_lacks_a_role(saved, template):
    (saved / "chat_template.jinja").write_text(template)
    with pytest.raises(InputError, match=LACKING[template]):
        load(saved)


SIZES = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
MODELS = {
    "OPT": {
        **SIZES, "ffn_dim": 32, "word_embed_proj_dim": 32, "dropout": 0.5, "attention_dropout": 0.5, "layerdrop": 0.5,
    },
    "Llama": {**SIZES, "intermediate_size": 32, "attention_dropout": 0.5},
    "GPT2": {
        "vocab_size": 50, "n_embd": 32, "n_layer": 2, "n_head": 2,
        "resid_pdrop": 0.5, "embd_pdrop": 0.5, "attn_pdrop": 0.5,
    },
    "GPTNeoX": {**SIZES, "intermediate_size": 32, "hidden_dropout": 0.5, "attention_dropout": 0.5},
    "Bloom": {"vocab_size": 50, "hidden_size": 32, "n_layer": 2, "n_head": 2, "hidden_dropout": 0.5},
    "Phi": {**SIZES, "intermediate_size": 32, "resid_pdrop": 0.5, "embd_pdrop": 0.5, "attention_dropout": 0.5},
    "Gemma2": {**SIZES, "intermediate_size": 32, "num_key_value_heads": 1, "head_dim": 16, "attention_dropout": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_in_training_says_what_it_says_in_evaluation(kind: str) -> None:
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, f"{kind}Config")(**MODELS[kind]))
    tokens = torch.arange(24).reshape(2, 12)
    expected = model.eval()(tokens).logits
    assert not torch.allclose(model.train()(tokens).logits, expected, atol=1e-3)
    without_dropout(model)
    for _ in range(3):
        torch.testing.assert_close(model(tokens).logits, expected)
