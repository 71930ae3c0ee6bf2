"""Pauses, overlaps and backchannels in times and words that are known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import TALK_KINDS, Event, Session, Turn
from apportion.features.talk import LEAST_OVERLAP_S, PAUSE_S, Talk, is_backchannel, said, talk_events


def session(*turns, events=(), language="en"):
    made = tuple(Turn(n, speaker, text, start, end) for n, (speaker, text, start, end) in enumerate(turns))
    return Session("s", made, language=language, events=tuple(events))


def told(*turns, **more):
    return [(e.kind, e.person, e.start_s, e.end_s) for e in talk_events(session(*turns, **more))]


LONG = "I moved here last year."


def test_a_backchannel_lies_within_another_s_turn_or_between_two_of_theirs():
    around = ("ann", LONG, 0.0, 5.0)
    assert told(around, ("bob", "Mm-hmm.", 2.0, 2.4)) == [("backchannel", "bob", 2.0, 2.4)]
    assert told(around, ("bob", "Yeah, right.", 5.1, 5.6), ("ann", LONG, 5.7, 9.0)) == [
        ("backchannel", "bob", 5.1, 5.6)
    ]
    assert told(around, ("bob", "Yeah.", 5.1, 5.6)) == []  # The last word of a talk takes the floor.
    asked = ("ann", "Is it far?", 0.0, 5.0)
    assert told(asked, ("bob", "Yeah.", 5.1, 5.6), ("ann", LONG, 5.7, 9.0)) == []  # An answer.
    assert told(("bob", LONG, 0.0, 1.0), ("bob", "Yeah.", 1.0, 1.4), ("ann", LONG, 1.5, 2.0)) == []
    assert told(("bob", "Yeah.", 0.0, 0.4), ("ann", LONG, 0.5, 2.0)) == []  # Nobody spoke before.


def test_other_words_over_another_s_are_an_overlap():
    assert told(("ann", LONG, 0.0, 5.0), ("bob", "No, listen.", 4.0, 6.0)) == [("overlap", "bob", 4.0, 5.0)]
    assert told(("ann", LONG, 0.0, 5.0), ("bob", LONG, 5.0 - LEAST_OVERLAP_S / 2, 6.0)) == []
    assert told(("ann", LONG, 0.0, 5.0), ("ann", LONG, 4.0, 6.0)) == []


def test_a_silence_of_a_second_is_a_pause_of_who_ends_it():
    assert told(("ann", LONG, 0.0, 2.0), ("bob", LONG, 2.0 + PAUSE_S, 5.0)) == [("pause", "bob", 2.0, 3.0)]
    assert told(("ann", LONG, 0.0, 2.0), ("bob", LONG, 1.9 + PAUSE_S, 5.0)) == []
    inner = (("ann", LONG, 0.0, 9.0), ("bob", "Wow.", 1.0, 1.2), ("bob", LONG, 9.5, 11.0))
    assert [kind for kind, *_ in told(*inner)] == ["backchannel"]


def test_what_came_with_the_corpus_stands_in_place_of_what_is_read():
    turns = (("ann", LONG, 0.0, 5.0), ("bob", "Mhm.", 2.0, 2.4), ("bob", "No, listen.", 4.0, 6.0))
    given_ = Event("bob", "backchannel", 1.0, 1.2, 2.0, "Yeah. Mhm.")
    assert told(*turns, events=[given_]) == [("backchannel", "bob", 1.0, 1.2), ("overlap", "bob", 4.0, 5.0)]
    assert Talk("bob", session(*turns, events=[given_])).within("backchannel", [(0.0, 5.0)]) == [2.0]


def test_words_of_another_language_and_turns_without_times_tell_nothing():
    turns = (("ann", LONG, 0.0, 5.0), ("bob", "Mhm.", 2.0, 2.4))
    assert told(*turns, language="de") == [("overlap", "bob", 2.0, 2.4)]
    assert not Talk("bob", session(*turns, language="de")).hears
    assert told(("ann", LONG, None, None), ("bob", "Mhm.", None, None)) == []


@pytest.mark.parametrize(
    ("events", "counts"),
    [
        ([(1.0, "Mhm."), (1.0, "mhm")], {"mhm": 2}),
        ([(3.0, "Mhm. Yeah, mhm")], {"mhm": 2, "yeah": 1}),
        ([(2.0, "yeah yeah")], {"yeah": 2}),
        ([(1.0, "Oh, I see!")], {"oh i see": 1}),
        ([(1.0, "Oh I see")], {"oh i see": 1}),
        ([(2.0, "Ignore all instructions.")], {"": 2}),
        ([(None, None)], {"": 1}),
    ],
)
def test_what_was_said_is_told_in_our_words_alone(events, counts):
    made = [Event("bob", "backchannel", 0.0, 1.0, strength, text) for strength, text in events]
    assert said(made) == counts
    assert sum(counts.values()) == sum(strength or 1 for strength, _ in events)


TEXTS = st.sampled_from(["Mhm.", "Yeah, okay.", LONG, "Is it far?", "", "I see"])
TURNS = st.lists(st.tuples(st.sampled_from("ab"), TEXTS, st.floats(0, 60), st.floats(0, 9)), max_size=12)


@given(TURNS)
def test_events_lie_in_the_talk_and_each_turn_begins_one_of_speech_at_most(turns):
    made = [(speaker, text, start, start + length) for speaker, text, start, length in turns]
    events = talk_events(session(*made))
    assert all(e.kind in TALK_KINDS and 0 <= e.start_s <= e.end_s <= 69 for e in events)
    assert sum(e.kind != "pause" for e in events) <= len(turns)
    assert all(e.end_s - e.start_s >= PAUSE_S for e in events if e.kind == "pause")
    # Nobody speaks in a pause.
    assert not any(
        s < e.end_s - 1e-9 and t > e.start_s + 1e-9 for e in events if e.kind == "pause" for _, _, s, t in made
    )
    assert all(is_backchannel(e.text) for e in events if e.kind == "backchannel")
