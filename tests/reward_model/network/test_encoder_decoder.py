"""BART and T5 are read as transformers' own sequence classifiers read them: by both halves, at the decoder's end."""

from pathlib import Path

import pytest
import torch
from transformers import BartForSequenceClassification, T5ForSequenceClassification

from apportion.foundation.errors import InputError
from apportion.reward_model.network.backbones import load_backbone
from apportion.reward_model.network.preflight import check_backbone
from apportion.reward_model.network.texts import embed_texts
from tests.reward_model.tiny import CONFIGS, save_tiny, small, tokenizer

KINDS = {"bart": BartForSequenceClassification, "t5": T5ForSequenceClassification}
PAIRS = [("A: hotel ?\n", "yes good"), ("", "no"), ("A: train ?\nB: at nine\nA: good ?\n", "bad bad bad .")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_texts_vector_is_what_transformers_classifier_gives_its_head(kind: str, tmp_path: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        oracle = KINDS[kind](CONFIGS[kind]()).eval()
    oracle.base_model.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    backbone = load_backbone(str(tmp_path), 32)
    given: list[torch.Tensor] = []
    oracle.classification_head.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    with torch.inference_mode():
        for texts in zip(*((both.window, both.reply) for both in backbone.tokens.encode(PAIRS)), strict=True):
            oracle(**backbone.tokens.pad(texts))
    windows, replies = given
    assert float(windows.std(dim=0).mean()) > 1e-2
    torch.testing.assert_close(backbone.embed(PAIRS), torch.cat([windows, replies], dim=1), rtol=0, atol=1e-5)
    alone = torch.from_numpy(embed_texts(backbone, [reply for _, reply in PAIRS]))
    torch.testing.assert_close(alone, replies, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_both_halves(kind: str, tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path, kind)), 32)
    backbone(backbone.tokens.encode(PAIRS)).square().sum().backward()
    assert all(weight.grad is not None for weight in backbone.parameters())
    for stack in backbone._stacks(""):
        assert all(bool(weight.grad.any()) for weight in stack[0].parameters() if weight.grad is not None)


@pytest.mark.parametrize(
    ("changes", "special", "problem"),
    [
        ({"decoder_start_token_id": None}, True, "names no decoder_start_token_id"),
        ({}, False, r"does not end a text with the end token of config.json \(eos_token_id = 2\)"),
        ({"eos_token_id": 9}, True, r"end token of config.json \(eos_token_id = 9\)"),
    ],
)
def test_one_that_says_not_how_a_text_begins_or_ends_is_refused(
    changes: dict[str, object], special: bool, problem: str, tmp_path: Path
) -> None:
    config = CONFIGS["bart"]()
    save_tiny(tmp_path, "bart")
    for name, value in changes.items():
        setattr(config, name, value)
    config.save_pretrained(tmp_path)
    tokenizer(special=special).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=problem):
        load_backbone(str(tmp_path), 32)
    with pytest.raises(InputError, match=problem):
        check_backbone(small(tmp_path))
