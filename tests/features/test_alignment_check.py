import numpy as np
import pytest

from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import check_overlap
from apportion.features.time_series import Series
from apportion.foundation.errors import UnitError

FILM = Media("ann", "video", "a.mp4", 100.0)


def _session(*spans: tuple[float | None, float | None]) -> Session:
    return Session("s", tuple(Turn(i, "ann", "x", a, b) for i, (a, b) in enumerate(spans)))


def _series(start_s: float, end_s: float) -> Series:
    edges = np.linspace(start_s, end_s, 11)
    return Series(edges[:-1], edges[1:], np.full(10, np.nan))


NOTHING = Series(np.zeros(0), np.zeros(0), np.zeros(0))


@pytest.mark.parametrize("turns", [[(0.0, 99.9)], [(150.1, 160.0)], [(0.0, 100.0), (150.0, 200.0)], [(90.0, 90.0)]])
def test_a_recording_beside_every_turn_is_told_with_both_spans(turns):
    last_s = max(end_s for _, end_s in turns)
    message = (
        r"a\.mp4 \(ann's video\) runs from 100\.0 to 150\.0 s of the session \(offset_s = 100\); the "
        rf"transcript's turns lie from {turns[0][0]:.1f} to {last_s:.1f} s.*Correct offset_s in the media table"
    )
    with pytest.raises(UnitError, match=message):
        check_overlap(_session(*turns), [(FILM, [_series(100.0, 150.0)])])


@pytest.mark.parametrize(
    "turns", [[(0.0, 100.1)], [(149.9, 160.0)], [(0.0, 1.0), (120.0, 120.0)], [(None, None)], [(None, 5.0)], []]
)
def test_one_moment_in_common_is_enough_and_turns_without_times_are_not_judged(turns):
    check_overlap(_session(*turns), [(FILM, [_series(100.0, 150.0)])])


def test_sound_that_begins_after_its_picture_is_the_same_recording():
    sound = Media("ann", "audio", "a.mp4", 100.0)
    measured = [(FILM, [_series(100.0, 150.0)]), (sound, [_series(130.0, 150.0)])]
    check_overlap(_session((100.0, 101.0)), measured)
    # The same file at another offset is another recording, and every one is told.
    early = Media("bob", "audio", "a.mp4", 0.0)
    with pytest.raises(UnitError, match=r"^a\.mp4 \(bob's audio\) runs from 0\.0 to 20\.0 s"):
        check_overlap(_session((100.0, 101.0)), [*measured, (early, [_series(0.0, 20.0)])])
    with pytest.raises(UnitError, match=r"a\.mp4 \(ann's video, ann's audio\) .*; a\.mp4 \(bob's audio\)"):
        check_overlap(_session((300.0, 301.0)), [*measured, (early, [_series(0.0, 20.0)])])


def test_a_recording_in_which_there_is_nothing_is_not_judged():
    check_overlap(_session((0.0, 1.0)), [(FILM, [NOTHING]), (Media("bob", "audio", "b.wav"), [])])
