"""What is told of an alignment that cannot be carried out, before anything is done."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from apportion.foundation.errors import InputError
from apportion.rlhf.align import align
from apportion.rlhf.preflight import TINY_LAYERS, check_alignment
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Job
from apportion.rlhf.training.tiny_policy import build_tiny
from tests.rlhf.saved import save_model
from tests.rlhf.toy import SMALL, chats, small_policy, splits


def settings(**changes: Any) -> AlignSettings:
    return AlignSettings.model_validate({**SMALL.model_dump(exclude={"preset"}), **changes})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_model(tmp_path / "model")


def of_tokenizer(model: Path, **changes: Any) -> None:
    path = model / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def without_end(model: Path) -> None:
    of_tokenizer(model, eos_token=None)
    for name in ("config.json", "generation_config.json"):
        found = json.loads((model / name).read_text())
        (model / name).write_text(json.dumps({**found, "eos_token_id": None}))


def with_more_tokens(model: Path) -> None:
    tokenizer = small_policy().tokenizer
    tokenizer.add_tokens([f"word{number}" for number in range(40)])
    tokenizer.save_pretrained(model)


def pickled(model: Path) -> None:
    (model / "model.safetensors").unlink()
    torch.save({}, model / "pytorch_model.bin")


def template(text: str) -> Any:
    return lambda model: (model / "chat_template.jinja").write_text(text)


BROKEN = {
    "damaged": (lambda model: (model / "config.json").write_text("{"), {}, "not a causal language model"),
    "another kind": (
        lambda model: (model / "config.json").write_text(json.dumps({"model_type": "vit"})), {}, "not a causal",
    ),
    "no tokenizer": (
        lambda model: [path.unlink() for path in model.glob("tokenizer*")], {}, r"has no tokenizer \(tokenizer.json",
    ),
    "tokens": (with_more_tokens, {}, r"writes 'word39' as token 339, and the model has embeddings for 0 to 299"),
    "pickled": (pickled, {}, "no safetensors weights, and pickled ones are not loaded"),
    "no template": (lambda model: (model / "chat_template.jinja").unlink(), {}, "has no chat template"),
    "template fails": (template("{{ raise_exception('no') }}"), {}, "cannot show a dialogue of user and assistant: no"),
    "template lacks a role": (
        template("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"), {}, "lacks the role assis",
    ),
    "no end": (without_end, {}, "names a token that ends a turn. Set eos_token"),
    "window": (None, {"max_context_tokens": 125}, "reads at most 128 tokens; .* = 131. Lower one of them"),
    "layers": (None, {"lora": {"targets": ["c_attn"]}}, r"no linear layer 'c_attn'\. It has: down_proj, gate_proj"),
    "turns": (
        template("{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}"), {"max_turns": 2},
        "does not end an assistant's turn with an end mark",
    ),
    "answered": (
        template(
            "{% if add_generation_prompt %}now{% endif %}{% for m in messages %}{{ m.content + eos_token }}{% endfor %}"
        ),
        {"algorithm": "kto"},
        "writes a prompt differently once it is answered",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_policy_that_cannot_be_aligned_is_told_without_its_weights(model, monkeypatch, fault):
    check_alignment(settings(policy=str(model)))
    breaks, changes, told = BROKEN[fault]
    if breaks is not None:
        breaks(model)
    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", None)
    with pytest.raises(InputError, match=told):
        check_alignment(settings(policy=str(model), **changes))


def test_a_tokenizer_larger_than_the_embeddings_is_told_where_the_model_is_loaded_too(model):
    from apportion.rlhf.policy.loading import load_policy

    with_more_tokens(model)
    with pytest.raises(InputError, match="writes 'word39' as token 339"):
        load_policy(str(model), SMALL.window, SMALL.placement)


def test_the_layers_of_tiny_are_those_that_it_has():
    model = build_tiny(chats(2), SMALL, 0).model
    linear = {name.rpartition(".")[2] for name, layer in model.named_modules() if isinstance(layer, torch.nn.Linear)}
    assert linear == set(TINY_LAYERS)
    with pytest.raises(InputError, match=r"lora.targets: the policy has no linear layer 'c_attn'"):
        check_alignment(settings(lora={"targets": ["c_attn"]}))


def test_targets_whom_nobody_rates_are_told():
    rated = chats(2)
    check_alignment(settings(targets=["bot"]), rated)
    check_alignment(settings(targets=["second"]), rated)
    with pytest.raises(InputError, match=r"targets: nobody called 'bob' is rated. Rated are 'bot'\."):
        check_alignment(settings(targets=["bob"]), rated)
    with pytest.raises(InputError, match=r"nobody called 'third' is rated.* or a place: first or second\."):
        check_alignment(settings(targets=["third"]), rated)
    with pytest.raises(InputError, match=r"targets: 'first': no session has such a speaker .* Rated are 'bot'\."):
        check_alignment(settings(targets=["first"]), rated)


def test_without_any_score_somebody_has_to_say_in_whose_place_the_policy_answers():
    with pytest.raises(InputError, match=r'targets: no session has a score.* Set targets to \["second"\]'):
        check_alignment(settings(), [])
    with pytest.raises(InputError, match=r"'second': no session has such a speaker .* Rated are no speakers"):
        check_alignment(settings(targets=["second"]), [])


def test_a_device_or_format_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match=r"device = 'cuda': torch sees no CUDA device here. Set it to 'cpu'"):
        check_alignment(settings(device="cuda"))
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    check_alignment(settings(device="cuda"))
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda including_emulation: False)
    with pytest.raises(InputError, match=r"dtype = 'bfloat16': this GPU does not compute in it .* Set it to 'float32'"):
        check_alignment(settings(device="cuda", dtype="bfloat16"))


def test_python_is_told_before_the_reward_model_is_opened(tmp_path, model):
    wrong = settings(policy=str(model), lora={"targets": ["c_attn"]})
    job = Job(chats(2), splits(policy=["chat-0"]), tmp_path / "nowhere", wrong, 0, tmp_path / "out", called="mine")
    with pytest.raises(InputError, match=r"^mine: lora.targets"):
        align(job)
