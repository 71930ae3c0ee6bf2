from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Session, Turn
from apportion.viewer.views.session.axis import LEAST_OVERLAP_S, axis_of, lanes_of, overlaps_of
from apportion.viewer.views.session.people import people_of

spans = st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 50), st.floats(0, 10)), max_size=12)


def session_of(parts):
    return Session("s", tuple(Turn(n, who, "", start, start + length) for n, (who, start, length) in enumerate(parts)))


def test_lanes_have_the_target_first():
    session = session_of([("ann", 0, 2), ("bob", 2, 2), ("ann", 4, 2)])
    people = people_of(session, "bob")
    lanes = lanes_of(session, axis_of(session), people)
    assert [(lane.person.name, lane.person.side, [b.turn for b in lane.blocks]) for lane in lanes] == [
        ("bob", 0, [1]),
        ("ann", 1, [0, 2]),
    ]


@given(spans)
def test_overlaps_are_those_that_comparing_all_pairs_finds(parts):
    session = session_of(parts)
    found = {o.turn for o in overlaps_of(session, axis_of(session))}
    order = sorted(session.turns, key=lambda t: (t.start_s, t.end_s, t.turn))
    wanted = set()
    for place, turn in enumerate(order):
        for other in order[:place]:
            shared = min(other.end_s, turn.end_s) - turn.start_s
            if other.speaker != turn.speaker and shared >= LEAST_OVERLAP_S:
                wanted.add(turn.turn)
    assert found == wanted
