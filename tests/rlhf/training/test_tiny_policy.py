from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.contexts import ContextTurn, render
from apportion.rlhf.training.tiny_policy import build_tiny, train_tokenizer
from tests.rlhf.toy import ANSWERS, QUESTIONS, SMALL, chats, episode


def test_any_text_can_be_written_and_read_back():
    tokenizer = train_tokenizer([*QUESTIONS, *ANSWERS], 320)
    text = "naïve 你好 \U0001f600 <x>\n  tab\t"
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text
    assert len(tokenizer) <= 320


def test_equal_seeds_build_equal_policies():
    def weights(seed: int) -> list[torch.Tensor]:
        return list(build_tiny(chats(4), SMALL, seed).model.state_dict().values())

    one, two, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_warming_up_learns_the_dialogues():
    longer = SMALL.model_copy(update={"tiny": SMALL.tiny.model_copy(update={"warmup_steps": 60, "warmup_batch": 4})})
    losses = {}
    policy = build_tiny(chats(4), longer, 0, losses.__setitem__)
    assert losses[60] < 0.3 * losses[1]
    prompt = torch.tensor([render([ContextTurn("user", QUESTIONS[1])], policy.tokenizer, reply_follows=True)])
    said = policy.model.eval().generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20)
    assert policy.tokenizer.decode(said[0, prompt.shape[1] :], skip_special_tokens=True) in ANSWERS


@settings(max_examples=4, deadline=None)
@given(st.integers(1, 25))
@example(10)
def test_any_number_of_steps_warms_up(steps):
    few = SMALL.model_copy(update={"tiny": SMALL.tiny.model_copy(update={"warmup_steps": steps})})
    losses = {}
    build_tiny(chats(2), few, 0, losses.__setitem__)
    assert math.isfinite(losses[steps])


@pytest.mark.parametrize("lines", [[], [("ann", " "), ("bot", "")]])
def test_no_text_to_warm_up_on_is_an_error(lines):
    with pytest.raises(UnitError, match="no text outside the test sessions"):
        build_tiny([episode("s", lines)], SMALL, 0)


def test_only_the_target_ever_speaks_is_an_error():
    with pytest.raises(UnitError, match="no dialogue outside the test sessions answers anybody"):
        build_tiny([episode("s", [("bot", "hello")])], SMALL, 0)
