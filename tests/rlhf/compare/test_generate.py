from __future__ import annotations

from dataclasses import replace

from apportion.rlhf.compare.generate import share_contexts
from apportion.rlhf.training.tiny_policy import train_tokenizer
from tests.rlhf.toy import ANSWERS, QUESTIONS, RATING, SMALL, chats, episode

COARSE = train_tokenizer([*QUESTIONS, *ANSWERS], 400)
FINE = train_tokenizer(["x"], 262)
"""A tokenizer that has seen nothing writes every letter as a token of its own."""
TIGHT = SMALL.window.model_copy(update={"max_context_tokens": 48})


def test_all_policies_get_the_contexts_that_each_has_room_for():
    long = episode("long", [("ann", " ".join(QUESTIONS)), ("bot", "no")])
    shared = share_contexts([*chats(2), long], {"one": COARSE, "two": FINE}, TIGHT, 100)
    places = [[(c.session_id, c.turn) for c in contexts] for contexts in shared.by_policy.values()]
    assert places[0] == places[1] == [(f"chat-{n}", turn) for n in range(2) for turn in (1, 3, 5)]
    assert (shared.no_room, shared.of_all, shared.sessions) == (1, 6, 2)
    one, two = shared.by_policy["one"][2], shared.by_policy["two"][2]
    assert one.history == two.history and len(one.history.splitlines()) == 3
    assert len(two.messages) < len(one.messages) == 3


def test_contexts_are_spread_and_two_ratings_of_one_speaker_count_once():
    both = [rated for chat in chats(4) for rated in (chat, replace(chat, rating=replace(RATING, name="trust")))]
    shared = share_contexts(both, {"one": COARSE}, SMALL.window, 4)
    assert [c.session_id for c in shared.shown] == ["chat-0", "chat-1", "chat-2", "chat-3"]
    assert shared.of_all == 12


def test_the_shown_context_opens_with_the_other_side():
    chat = episode("s", [("bot", "welcome"), ("ann", "a\ntrain?"), ("bot", "yes")])
    (context,) = share_contexts([chat], {"one": COARSE}, SMALL.window, 9).shown
    assert context.history == "user: a train?"
