from __future__ import annotations

import pytest
import torch

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import ContextTurn, render
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.sampling.multi_turn import interjection, sample_dialogues
from tests.rlhf.toy import SMALL, contexts, small_policy


class Echo:
    """Answers every reply twice; what the scorer reads is how much was said."""

    def answer(self, context, replies):
        return f"no {len(replies)}" if len(replies) < 3 else None

    def history(self, context, replies):
        return f"{context.session_id} {context.turn} {len(replies)}"


def sampled(turns: int, **changes):
    policy = small_policy()
    model = attach_adapter(policy.model, LoraSettings(r=2, alpha=4))
    settings = SMALL.model_copy(update={"max_turns": turns, "temperature": 1.5, **changes})
    torch.manual_seed(1)
    some = contexts(policy)[:4]
    return policy, some, sample_dialogues(policy, model, some, Echo(), settings)


def test_a_response_is_turns_of_the_policy_with_the_others_words_in_between():
    policy, some, rollout = sampled(4, max_context_tokens=120)
    assert [int((rollout.turn_ends[:, 0] == row).sum()) for row in range(4)] == [3] * 4
    assert len(rollout.texts) == len(rollout.histories) == 12
    assert rollout.histories[:3] == tuple(f"{some[0].session_id} {some[0].turn} {said}" for said in range(3))
    prompt = rollout.tokens.shape[1] - rollout.mask.shape[1]
    for row, context in enumerate(some):
        # What was read is the dialogue as its template writes it, end marks put in where a reply was cut.
        texts = rollout.texts[3 * row : 3 * row + 3]
        read = rollout.tokens[row][rollout.attention[row] == 1].tolist()
        assert read[: len(context.prompt)] == list(context.prompt)
        between = [interjection(policy, f"no {said}") for said in (1, 2)]
        expected, own = list(context.prompt), []
        ends = rollout.turn_ends[rollout.turn_ends[:, 0] == row, 1].tolist()
        start = 0
        for turn, end in enumerate(ends):
            said = rollout.replies[row, start : end + 1].tolist()
            assert policy.tokenizer.decode(said, skip_special_tokens=True).strip() == texts[turn]
            expected += said
            own += [True] * len(said)
            if turn < 2:
                cut = [] if said[-1] in policy.eos_ids else [policy.eos_ids[0]]
                expected += [*cut, *between[turn]]
                own += [False] * len([*cut, *between[turn]])
            start = len(own)
        assert read == expected and rollout.mask[row, : len(own)].tolist() == own
        assert not rollout.mask[row, len(own) :].any() and rollout.attention[row, prompt:].sum() == len(own)


def test_one_turn_is_what_a_single_reply_is():
    _, _, rollout = sampled(1)
    assert torch.equal(rollout.turn_ends[:, 1], rollout.lengths - 1) and len(rollout.texts) == 4


def test_a_response_ends_where_the_next_turn_might_not_fit():
    _, some, rollout = sampled(4, max_context_tokens=max(len(c.prompt) for c in contexts(small_policy())[:4]) + 9)
    assert rollout.attention.sum(dim=1).max() <= max(len(context.prompt) for context in some) + 9 + SMALL.max_new_tokens
    assert len(rollout.texts) < 12


def test_what_lies_between_two_turns_is_the_templates_own():
    policy = small_policy()
    said = (ContextTurn("user", "q"), ContextTurn("assistant", "r"))
    whole = render((*said, ContextTurn("user", "no")), policy.tokenizer, reply_follows=True)
    assert whole == (*render(said, policy.tokenizer, reply_follows=False), *interjection(policy, "no"))


def test_a_template_without_an_end_mark_is_refused():
    policy = small_policy()
    policy.tokenizer.chat_template = (
        "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    )
    with pytest.raises(InputError, match=r"does not end an assistant's turn with an end mark.*max_turns = 1"):
        interjection(policy, "no")
