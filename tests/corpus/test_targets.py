"""Whose turns count where ratings, names and places say it."""

from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import ENVIRONMENT, Rating, Session, Turn
from apportion.corpus.targets import (
    TargetSpeaker,
    answered_episodes,
    as_if_rated,
    credited,
    in_order,
    is_anyone_rated,
    speaker_called,
    unrated_episode,
)

names = st.sampled_from(["ann", "bob", "cy", "first", "second"])
said = st.lists(st.tuples(names, st.sampled_from(["", " ", "hi", "bye"])), max_size=8)


def session(name: str, speakers: str, *targets: str, rating: str = "mood") -> Session:
    turns = tuple(Turn(i, who, "hi") for i, who in enumerate(speakers))
    return Session(name, turns, tuple(Rating("x", target, rating, 3.0, 1.0, 5.0) for target in targets))


def answered(*sessions: Session, targets: tuple[str, ...] = ()) -> list[tuple[str, str, bool]]:
    episodes = answered_episodes(sessions, credited(sessions, "mood"), "mood", targets)
    return [(e.session_id, e.rating.target, e.is_rated) for e in episodes]


@given(said)
def test_a_place_is_that_of_the_first_words_and_a_name_goes_before_it(lines: list[tuple[str, str]]) -> None:
    turns = tuple(Turn(i, who, text) for i, (who, text) in enumerate(lines))
    order: list[str] = []
    for who, text in lines:
        if text.strip() and who not in order:
            order.append(who)
    assert list(in_order(turns)) == order
    for place, word in enumerate(("first", "second")):
        expected = word if word in order else order[place] if place < len(order) else None
        assert speaker_called(turns, word) == expected
    assert speaker_called(turns, "ann") == ("ann" if "ann" in order else None)
    assert speaker_called(turns, "third") is None


def test_an_unrated_session_is_answered_for_whom_ratings_of_any_name_credit() -> None:
    assert answered(session("a", "ub", "b"), session("b", "bu"), session("c", "ub")) == [
        ("a", "b", True), ("b", "b", False), ("c", "b", False),
    ]  # fmt: skip
    assert answered(session("a", "ub", "b"), session("b", "uv", "u", rating="fun"))[-1] == ("b", "u", False)


def test_where_names_change_it_is_answered_for_the_places_that_most_ratings_credit() -> None:
    seconds = [session("a", "uv", "v"), session("b", "wx", "x"), session("c", "yz", "y")]
    assert answered(*seconds, session("d", "pq"))[-1] == ("d", "q", False)
    both = [session("a", "uv", "u", "v"), session("b", "wx", "w", "x")]
    assert answered(*both, session("c", "pq"))[-2:] == [("c", "p", False), ("c", "q", False)]
    # Of a corpus of two kinds, the sessions of the other kind lack the name.
    mixed = [session("a", "ub", "b"), session("b", "ub", "b"), session("c", "pq"), session("d", "p")]
    assert answered(*mixed)[-1] == ("c", "q", False)
    assert str(credited(mixed, "mood")) == "'b', else who speaks second"
    assert str(credited(both)) == "who speaks first and second"
    assert str(TargetSpeaker(places=(2,))) == "who speaks number 3"


def test_what_is_given_goes_before_the_ratings_in_sessions_without_one() -> None:
    sessions = (session("a", "ub", "b"), session("b", "ub"), session("c", "xyz"), session("d", "u"))
    assert answered(*sessions, targets=("first",)) == [
        ("a", "b", True), ("b", "u", False), ("c", "x", False), ("d", "u", False),
    ]  # fmt: skip
    assert answered(*sessions, targets=("second", "b")) == [("a", "b", True), ("b", "b", False), ("c", "y", False)]


def test_where_nobody_is_rated_nobody_is_answered_for() -> None:
    assert answered(session("a", "ub"), session("b", "uv")) == [] and credited([]) == TargetSpeaker()
    made = unrated_episode(session("a", "ub"), "b")
    assert made.target_turns == (1,) and not made.is_rated and made.key == ("a", "", "b", "")
    both = [session("s1", "ab"), session("s2", "ab", "a")]
    assert is_anyone_rated(both) and is_anyone_rated(both, "mood")
    assert not is_anyone_rated(both, "humour") and not is_anyone_rated(both[:1])


@given(said, st.sampled_from(["first", "second", "ann", "zoe"]))
def test_a_session_that_nobody_rated_is_seen_by_its_other_side(lines: list[tuple[str, str]], target: str) -> None:
    bare = Session("s", tuple(Turn(i, who, text) for i, (who, text) in enumerate(lines)))
    meant, heard = speaker_called(bare.turns, target), in_order(bare.turns)
    seen = as_if_rated(bare, target)
    assert not is_anyone_rated([bare, seen])
    if meant is None or set(heard) <= {meant}:
        assert seen is bare
        return
    (episode,) = seen.episodes()
    others = [who for who in heard if who != meant]
    assert episode.rating.target == meant and not episode.is_rated
    assert episode.rating.rater == (others[0] if len(others) == 1 else ENVIRONMENT)
