import json
from dataclasses import replace

import pytest

from apportion.corpus.session import ENVIRONMENT, Background, Episode, Rating, Turn
from apportion.decompose.influence.follower import SILENCE, prompt_of, reply_to
from apportion.decompose.influence.preflight import Intent, read_intents
from apportion.foundation.errors import InputError

SAID = (
    ("ann", "Hi."),
    ("bob", "Is there a train?"),
    ("bob", "Today?"),
    ("ann", "At nine."),
    ("ann", "Or ten."),
    ("bob", "Thanks!"),
)


def episode(said=SAID, rater="ann", target="bob", backgrounds=()):
    turns = tuple(Turn(number, who, text) for number, (who, text) in enumerate(said))
    return Episode("s1", turns, Rating(rater, target, "help", 2.0, 1.0, 5.0), backgrounds)


def read(one, position, said=None, context_turns=None):
    reply = reply_to(one, position)
    words = one.turns[position].text if said is None else said
    return [(m.role, m.content) for m in prompt_of(one, reply, words, context_turns).messages]


def test_a_reply_is_what_the_next_one_says_until_somebody_else_does():
    reply = reply_to(episode(), 1)
    assert (reply.start, reply.follower, reply.text) == (3, "ann", "At nine. Or ten.")
    assert reply_to(episode(), 2).start == 3 and reply_to(episode(), 5) is None
    silent = episode((("ann", "Hi."), ("bob", "Train?"), ("ann", " ")))
    assert reply_to(silent, 1) is None
    game = episode((("bob", "Vote cy."), ("cy", "No!"), ("ann", "Yes.")), rater=ENVIRONMENT)
    assert (reply_to(game, 0).follower, reply_to(game, 0).text) == ("cy", "No!")


def test_the_follower_reads_a_chat_in_which_they_are_the_assistant():
    assert read(episode(), 1) == [("user", SILENCE), ("assistant", "Hi."), ("user", "Is there a train?\nToday?")]
    assert read(episode(SAID[1:]), 0) == [("user", "Is there a train?\nToday?")]
    assert read(episode(), 2, SILENCE)[-1] == ("user", "Is there a train?\n…")
    assert read(episode(), 1, SILENCE)[-1] == ("user", "…\nToday?")
    long = episode((*SAID, ("ann", "Bye.")))
    assert read(long, 5, context_turns=1) == [("user", "Thanks!")]
    assert read(long, 5, context_turns=2) == [("user", SILENCE), ("assistant", "Or ten."), ("user", "Thanks!")]
    assert read(long, 1, context_turns=1) == [("user", "Is there a train?\nToday?")]


def test_the_follower_knows_what_is_theirs_and_nobody_speaks_for_another():
    known = (
        Background(None, "rules", "One\ntrain."),
        Background("ann", "goal", "Sell tickets."),
        Background("bob", "goal", "CANARY"),
    )
    shown = read(episode(SAID[1:], backgrounds=known), 0)
    assert shown == [("user", "Rules: One train.\nYour goal: Sell tickets.\n\nIs there a train?\nToday?")]
    opened = read(episode(backgrounds=known), 1)
    assert opened[0] == ("user", "Rules: One train.\nYour goal: Sell tickets.\n") and opened[1] == ("assistant", "Hi.")
    game = episode((("bob", "I am good.\ncy: I am a wolf"), ("cy", "No!")), rater=ENVIRONMENT)
    seen = replace(game, turns=(*game.turns, Turn(2, "ann", "Hm.")))
    assert read(seen, 0) == [("user", "You are cy.\n\nbob: I am good. cy: I am a wolf")]


ROW = {"session_id": "s1", "turn": 4, "desired": ["Yes.", "Sure\u2028!"], "undesired": ["No."]}


def written(folder, *rows):
    path = folder / "intents.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_intents_are_found_by_session_and_turn_or_their_file_is_missed(tmp_path):
    found = read_intents(written(tmp_path, ROW, "", {**ROW, "turn": 6, "undesired": []}))
    assert found["s1", 4] == Intent(("Yes.", "Sure\u2028!"), ("No.",)) and found["s1", 6].undesired == ()
    assert Intent(("a",), ("b",)).told(str.upper) == Intent(("A",), ("B",))
    with pytest.raises(InputError, match=r"cannot be read \(No such file"):
        read_intents(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["no json"], "line 1: no intent .JSONDecodeError"),
        ([{"session_id": "s1", "turn": 4, "desired": ["a"]}], "no intent .KeyError: 'undesired'"),
        ([ROW, {**ROW, "turn": "4"}], "line 2: an intent has a session, a turn's number"),
        ([{**ROW, "turn": True}], "a turn's number"),
        ([{**ROW, "desired": [" "]}], "one reply with text"),
        ([{**ROW, "desired": [], "undesired": []}], "at least one reply"),
        ([ROW, ROW], "line 2: session s1, turn 4 has an intent already"),
    ],
)
def test_what_is_no_intent_is_told_with_its_line(tmp_path, rows, words):
    with pytest.raises(InputError, match=words):
        read_intents(written(tmp_path, *rows))
