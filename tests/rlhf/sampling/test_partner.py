from __future__ import annotations

from apportion.corpus.session import Turn
from apportion.reward_model.history_windows import window
from apportion.rlhf.policy.contexts import make_contexts
from apportion.rlhf.sampling.partner import RecordedPartner
from tests.rlhf.toy import episode, small_policy

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
