import json
from pathlib import Path

import pytest

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.foundation.errors import InputError
from apportion.study.design.criteria import shipped
from apportion.study.design.dialogues import items_of_dialogues

DEMO = Corpus.open(Path(__file__).resolve().parents[3] / "demo" / "corpus")
TURNS, NEGOTIATION, GELI = map(shipped, ("turns", "negotiation", "geli"))
LINES = [
    ("s1", 0, "Alice", "I take\nthe book."),
    ("s1", 1, "Bob", "No."),
    ("s1", 2, "Alice", " "),
    ("s1", 3, "Alice", "Then the hat."),
    ("s2", 0, "Bob", "Hello."),
    ("s2", 1, "Alice", "Hi."),
]


def played(folder, rated=True, log=True):
    """Two games between Alice and Bob; the log beside them says which agents play."""
    rows = CorpusRows()
    for name in ("s1", "s2"):
        rows.session(name, "by hand")
        if rated:
            rows.rating(name, ("environment", "Alice"), "points", 6.0, (0.0, 10.0), higher_is_better=True)
    for line in LINES:
        rows.utterance(*line)
    rows.background("s1", "rules", "Share out.")
    for speaker, goal in (("Alice", "Win."), ("Bob", "Lose.")):
        rows.background("s1", "goal", goal, speaker)
    Corpus.of(folder, rows.tables()).write(folder)
    if log:
        write_log(folder, s1="zz-fair", s2="zz-greedy")
    return Corpus.open(folder)


def write_log(folder, **agents):
    begun = [
        {"episode": name, "begin": {"agents": [["Alice", agent], ["Bob", "zz-bob"]], "environment": "n", "seed": "0"}}
        for name, agent in agents.items()
    ]
    (folder / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in begun), encoding="utf-8")


def test_a_dialogue_is_one_item_with_a_message_a_turn_and_what_the_speaker_knew(tmp_path):
    made = items_of_dialogues(played(tmp_path), TURNS, 7)
    first, second = made.items
    assert first.context.split("\n") == [
        *("known (rules): Share out.", "known (own goal): Win."),
        *("assistant: I take the book.", "user: No.", "assistant: Then the hat."),
    ]
    assert first.turns == (None, None, 0, 1, 3) and first.positions == (2, 4) and first.turn == 3
    assert (second.context, second.turns, second.responses) == ("user: Hello.\nassistant: Hi.", (0, 1), ())
    assert made.key == ()


def test_a_policy_is_the_agent_that_played_as_the_log_says(tmp_path):
    made = items_of_dialogues(played(tmp_path), NEGOTIATION, 7)
    assert [row.policy for row in made.key] == ["zz-fair", "zz-greedy"]
    assert [[response.text for response in item.responses] for item in made.items] == [[""], [""]]
    assert "zz-" not in json.dumps([item.to_json() for item in made.items])


def test_who_is_judged_may_be_named(tmp_path):
    corpus = played(tmp_path, rated=False)
    made = items_of_dialogues(corpus, TURNS, 7, ["first"])
    assert sorted(item.positions for item in made.items) == [(0,), (2, 4)]
    with pytest.raises(InputError, match="nobody is rated in it"):
        items_of_dialogues(corpus, TURNS, 7)
    with pytest.raises(InputError, match="nobody called 'Zoe' is rated"):
        items_of_dialogues(corpus, TURNS, 7, ["Zoe"])


def test_responses_are_not_asked_of_a_corpus(tmp_path):
    with pytest.raises(InputError, match="'fluency' is asked of several responses"):
        items_of_dialogues(played(tmp_path), GELI, 7)


def test_the_demo_corpus_becomes_items_that_are_drawn_by_the_seed():
    every, some, again = (items_of_dialogues(DEMO, TURNS, 7, most=most).items for most in (None, 5, 5))
    assert {item.session_id for item in every} == set(DEMO.session_ids()) and len(some) == 5 and some == again
    turns = {turn.turn: turn.text for turn in DEMO.session(every[0].session_id).turns}
    for number, message in zip(every[0].turns, every[0].messages, strict=True):
        assert number is None or " ".join(turns[number].split()) == message.text


def test_without_a_log_a_policy_is_the_speaker_and_ids_of_sessions_that_name_a_policy_are_told(tmp_path):
    made = items_of_dialogues(played(tmp_path, log=False), NEGOTIATION, 7)
    assert [row.policy for row in made.key] == ["Alice", "Alice"] and made.notes == ()
    write_log(tmp_path, s1="s1")
    told = items_of_dialogues(Corpus.open(tmp_path), NEGOTIATION, 7).notes
    (item,) = [item.item for item in made.items if item.session_id == "s1"]
    assert told[-1].startswith(f"the sessions' ids name policies in 1 item ({item})")
