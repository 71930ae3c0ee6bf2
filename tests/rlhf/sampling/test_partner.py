import pytest
import torch

from apportion.corpus.session import Turn
from apportion.foundation.errors import InputError
from apportion.reward_model.history_windows import window
from apportion.rlhf.policy.contexts import ContextTurn, make_contexts, render
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.sampling.multi_turn import partner_turn_tokens, sample_dialogues
from apportion.rlhf.sampling.partner import RecordedPartner
from tests.rlhf.toy import SMALL, contexts, episode, small_policy

TALK = [("ann", "a0"), ("bot", "b1"), ("ann", "a2"), ("ann", "a3"), ("bot", "b4"), ("bot", "b5"), ("ann", "a6"),
        ("bot", "b7"), ("ann", "a8")]  # fmt: skip


def three(episode, position):
    return window(episode, position, 3)[0]


def partner_and_context(position: int = 1):
    talk, policy = episode("talk", TALK), small_policy()
    made = make_contexts([talk], policy.tokenizer, three, context_turns=3, max_context_tokens=64).contexts
    (context,) = [one for one in made if one.turn == position]
    return RecordedPartner([talk], three), context


def test_the_other_side_says_what_it_said_until_the_target_spoke_last():
    partner, context = partner_and_context()
    assert [partner.answer(context, ["x"] * count) for count in (1, 2, 3, 4)] == ["a2 a3", "a6", None, None]
    partner, late = partner_and_context(7)
    assert partner.answer(late, ["x"]) is None


def test_the_scorer_reads_the_policys_own_earlier_turns():
    partner, context = partner_and_context()
    assert partner.history(context, []) == context.history == "A: a0\n"
    assert partner.history(context, ["mine"]) == "A: a0\nB: mine\nA: a2 a3\n"
    assert partner.history(context, ["mine", "more"]) == "A: a2 a3\nB: more\nA: a6\n"


def test_a_turn_without_words_still_opens_its_sides_part():
    talk = episode("talk", [("ann", "a0"), ("bot", " "), ("ann", "a2"), ("bot", "b3")])
    policy = small_policy()
    made = make_contexts([talk], policy.tokenizer, three, context_turns=3, max_context_tokens=64).contexts
    assert RecordedPartner([talk], three).answer(made[0], ["x"]) == "a2"
    assert talk.turns[1] == Turn(1, "bot", " ")


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
        between = [partner_turn_tokens(policy, f"no {said}") for said in (1, 2)]
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
    assert whole == (*render(said, policy.tokenizer, reply_follows=False), *partner_turn_tokens(policy, "no"))


def test_a_template_without_an_end_mark_is_refused():
    policy = small_policy()
    policy.tokenizer.chat_template = (
        "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    )
    with pytest.raises(InputError, match=r"does not end an assistant's turn with an end mark.*max_turns = 1"):
        partner_turn_tokens(policy, "no")
