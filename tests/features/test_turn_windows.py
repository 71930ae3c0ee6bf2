from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Episode, Rating, Session, Turn
from apportion.features.turn_windows import TurnSpan, floor_spans, intersect, turn_spans


def _session(*turns: tuple[str, float | None, float | None]) -> Session:
    return Session("s", tuple(Turn(i, who, "x", a, b) for i, (who, a, b) in enumerate(turns)))


def test_only_the_beginning_of_a_long_reply_counts_and_turns_without_times_have_no_span():
    session = _session(("ann", 0, 2), ("bob", 3, 40))
    assert turn_spans(session, "bob", 10.0)[1] == TurnSpan(0, "reply", (3, 13.0))
    session = _session(("ann", None, None), ("bob", 1, 2), ("ann", 2, 3), ("bob", None, 4))
    assert [(w.turn, w.window) for w in turn_spans(session, "bob", 10.0)] == [(1, "during"), (2, "during")]


def test_floor_spans_are_joined_and_intersected():
    session = _session(("ann", 0, 2), ("ann", 1, 3), ("bob", 2, 5), ("ann", 6, 7))
    assert floor_spans(session, "ann") == [(0, 3), (6, 7)]
    assert intersect((2, 6.5), [(0, 3), (6, 7)]) == [(2, 3), (6, 6.5)]
    assert intersect((3, 6), [(0, 3), (6, 7)]) == []


@given(st.lists(st.sampled_from(["ann", "bob", "cy"]), min_size=1, max_size=12))
def test_replies_are_those_of_the_episode(speakers):
    session = _session(*((who, float(i), i + 0.9) for i, who in enumerate(speakers)))
    episode = Episode("s", session.turns, Rating("bob", "ann", "x", 3.0, 1.0, 5.0))
    found = {w.turn: w.span for w in turn_spans(session, "bob", 1e3) if w.window == "reply"}
    for position in episode.target_positions:
        reply = episode.reply_positions(position)
        expected = (session.turns[reply[0]].start_s, session.turns[reply[-1]].end_s) if reply else None
        assert found.get(position) == expected
