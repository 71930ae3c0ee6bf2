from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Background, Episode, Rating, Session, Turn
from apportion.corpus.speaker_labels import letters


def episode(speakers, **rating):
    turns = tuple(Turn(10 + i, speaker, f"{speaker}{i}") for i, speaker in enumerate(speakers))
    return Episode(
        "s", turns, Rating(**{"rater": "X", "target": "Y", "name": "n", "score": 4.0, "low": 1.0, "high": 5.0} | rating)
    )


def test_key_episodes_and_credited_turns():
    found = episode("XYYXYZ")
    assert found.key == ("s", "X", "Y", "n")
    assert found.target_positions == (1, 2, 4) and found.target_turns == (11, 12, 14)
    ratings = tuple(Rating("X", "Y", name, 1.0, 0.0, 2.0) for name in ("a", "b"))
    session = Session("s", (), ratings)
    assert len(session.episodes()) == 2 and [e.rating.name for e in session.episodes("b")] == ["b"]


@pytest.mark.parametrize(("higher", "score"), [(True, 4.0), (False, 2.0)])
def test_larger_is_always_better(higher, score):
    assert episode("XY", higher_is_better=higher).score == score


def test_a_reaction_belongs_to_the_whole_floor():
    found = episode("XYYXXYXZ")
    assert found.reply_positions(1) == found.reply_positions(2) == (3, 4)
    assert found.reply_positions(5) == (6,) and found.reply_text(1) == "X3 X4"
    assert episode("XYZ").reply_positions(1) == () and episode("XYZ").reply_text(1) == ""
    found = episode("XYYXZXYZ", rater="environment")
    assert not found.has_rater and episode("XY").has_rater
    assert found.reply_positions(1) == found.reply_positions(2) == (3, 4, 5)
    assert found.reply_text(1) == "X3 Z4 X5" and found.reply_positions(6) == (7,)
    assert episode("XYY", rater="environment").reply_positions(1) == ()


@given(st.text("XYZ", min_size=1, max_size=12))
def test_a_reply_is_an_unbroken_run_of_the_raters_turns_after_the_target(speakers):
    found = episode(speakers)
    for position in found.target_positions:
        reply = found.reply_positions(position)
        assert all(speakers[i] == "X" for i in reply)
        if reply:
            assert list(reply) == list(range(reply[0], reply[-1] + 1)) and reply[0] > position
            assert "X" not in speakers[position + 1 : reply[0]] and speakers[reply[-1] + 1 :][:1] != "X"
        else:
            assert "X" not in speakers[position:]


@given(st.text("XYZ", min_size=1, max_size=12))
def test_a_reply_to_the_environments_target_is_all_between_two_floors_of_the_target(speakers):
    found = episode(speakers, rater="environment")
    for position in found.target_positions:
        floor = speakers[position:].lstrip("Y")
        reply = floor.split("Y")[0]
        start = len(speakers) - len(floor)
        assert found.reply_positions(position) == tuple(range(start, start + len(reply)))


def test_the_target_knows_what_everybody_knows_and_its_own():
    known = tuple(Background(speaker, "goal", f"of {speaker}") for speaker in (None, "X", "Y", "Z"))
    session = Session("s", (), (Rating("X", "Y", "n", 1.0, 0.0, 2.0),), backgrounds=known)
    (found,) = session.episodes()
    assert found.backgrounds == known and [b.speaker for b in found.known_to_target] == [None, "Y"]


def test_two_are_a_and_b_and_more_go_on_from_c_past_z() -> None:
    two = Episode("s", (Turn(0, "bob", "a"), Turn(1, "ann", "b")), Rating("ann", "bob", "n", 1.0, 0.0, 2.0))
    assert (two.letters, two.is_multiparty) == ({"bob": "B", "ann": "A"}, False)
    three = replace(two, turns=(*two.turns, Turn(2, "eve", "c")))
    assert (three.letters, three.is_multiparty) == ({"bob": "B", "ann": "A", "eve": "C"}, True)
    # Two who speak of a third who is rated and says nothing.
    assert replace(two, rating=replace(two.rating, target="eve")).is_multiparty
    assert [Session("s", e.turns).is_multiparty for e in (two, three)] == [False, True]
    assert letters(["ann", "bob"], "bob") == {"ann": "A", "bob": "B"}
    assert letters([], "bob") == {"bob": "B"}
    many = letters(range(30), 0)
    assert [many[i] for i in (0, 1, 2, 25, 26, 27, 29)] == ["B", "A", "C", "Z", "AA", "AB", "AD"]


SPEAKERS = st.lists(st.integers(0, 60), max_size=120)


@given(SPEAKERS, st.integers(0, 60), st.integers(0, 120))
def test_nobody_shares_a_letter_and_what_comes_later_changes_none(speakers: list[int], target: int, end: int) -> None:
    given_to = letters(speakers, target)
    assert set(given_to) == {*speakers, target}
    assert len(set(given_to.values())) == len(given_to)
    assert letters(speakers[:end], target).items() <= given_to.items()
