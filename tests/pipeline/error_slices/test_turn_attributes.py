import numpy as np

from apportion.corpus.session import Episode, Rating, Turn
from apportion.pipeline.error_slices.turn_attributes import traits

LIKING = Rating("ann", "bot", "liking", 3.0, 1.0, 5.0)


def episode(said: list[str], session_id: str = "s1", times: list[tuple[float, float]] | None = None) -> Episode:
    """ann and bot take turns; bot says ``said``."""
    texts = [text for line in said for text in ("Go on.", line)]
    spans = times or [(None, None)] * len(texts)
    turns = tuple(Turn(i, ("ann", "bot")[i % 2], text, *spans[i]) for i, text in enumerate(texts))
    return Episode(session_id, turns, LIKING)


def test_cues_of_what_is_said():
    found = traits([episode(["Where to?", "I cannot find it.", "We are open until nine.", "we are OPEN until nine!"])])
    assert found["cue: asks a question"].tolist() == [True, False, False, False]
    assert found["cue: regrets or negates (sorry, cannot, …n't)"].tolist() == [False, True, False, False]
    assert found["cue: says again what it said"].tolist() == [False, False, False, True]


def test_places_are_counted_within_the_session():
    found = traits([episode(list("abcdef")), episode(["x"], "s2")])
    assert np.flatnonzero(found["place: the first turn"]).tolist() == [0, 6]
    assert np.flatnonzero(found["place: the last turn"]).tolist() == [5, 6]
    assert np.flatnonzero(found["place: the first third"]).tolist() == [0, 1]
    assert np.flatnonzero(found["place: the last third"]).tolist() == [4, 5]


def test_long_and_short_are_fifths_of_all_turns():
    found = traits([episode(["x" * n for n in range(1, 11)])])
    assert np.flatnonzero(found["cue: among the longest fifth"]).tolist() == [8, 9]
    assert np.flatnonzero(found["cue: among the shortest fifth"]).tolist() == [0, 1]


def test_pauses_are_told_only_where_there_are_times():
    times = [(0.0, 1.0), (1.2, 2.0), (3.0, 4.0), (3.5, 5.0), (6.0, 7.0), (9.0, 9.5)]
    found = traits([episode(["a", "b", "c"], times=times), episode(["d"], "s2")])
    assert found["cue: begins while the other speaks"].tolist() == [False, True, False, False]
    assert found["cue: after one of the longest fifth of pauses"].tolist() == [False, False, True, False]
    assert not any("pause" in name for name in traits([episode(["a"])]))


def test_no_episode_has_no_traits():
    assert traits([]) == {}
