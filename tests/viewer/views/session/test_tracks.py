import re

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.schema import FRAMES
from apportion.corpus.session import Session, Turn
from apportion.viewer.views.session.axis import axis_of
from apportion.viewer.views.session.people import people_of
from apportion.viewer.views.session.tracks import BINS, tracks_of

SESSION = Session("s", (Turn(0, "ann", "Hi.", 0.0, 4.0), Turn(1, "bob", "Hello.", 4.0, 10.0)))
PEOPLE = people_of(SESSION, "bob")


def frames(feature, points, person="ann"):
    rows = [{"session_id": "s", "person": person, "feature": feature, "time_s": t, "value": v} for t, v in points]
    return pa.Table.from_pylist(rows, schema=FRAMES.arrow).to_batches(max_chunksize=30)


def only(groups):
    (group,) = groups
    (track,) = group.tracks
    return track


def test_a_level_is_a_line_that_breaks_where_nothing_was_seen():
    track = only(tracks_of(frames("f0_hz", [(0.0, 100.0), (0.1, 200.0), (6.0, 150.0)]), (), axis_of(SESSION), PEOPLE))
    assert (track.low, track.high) == ("100", "200 Hz")
    path = track.lines[0].path
    assert path.count("M") == 2 and path.startswith("M0.0 92.0") and "L10.0 8.0" in path
    assert track.lines[0].said == "100 to 200 Hz"


def test_events_are_bars():
    points = [(t / 10, float(20 <= t < 40)) for t in range(100)]
    track = only(tracks_of(frames("nod_yes", points), (), axis_of(SESSION), PEOPLE))
    assert re.findall(r"M([\d.]+) .*H([\d.]+)V", track.lines[0].path) == [("200.0", "400.0")]
    assert track.high == ""


def test_long_series_are_thinned_to_what_can_be_seen():
    points = [(t / 1000, float(t % 7)) for t in range(10_000)]
    track = only(tracks_of(frames("intensity_db", points), (), axis_of(SESSION), PEOPLE))
    assert BINS / 2 < track.lines[0].path.count("L") <= BINS


def test_means_of_turns_stand_in_where_nothing_was_measured_in_time():
    means = [
        {"turn": 0, "person": "ann", "window": "during", "feature": "smile", "mean": 0.5, "coverage": 1.0},
        {"turn": 1, "person": "ann", "window": "during", "feature": "smile", "mean": None, "coverage": 0.0},
        {"turn": 1, "person": "ann", "window": "reply", "feature": "smile", "mean": 1.0, "coverage": 1.0},
        {"turn": 0, "person": "ann", "window": "during", "feature": "f0_hz", "mean": 0.5, "coverage": 1.0},
    ]
    groups = tracks_of(frames("f0_hz", [(0.0, 100.0)]), means, axis_of(SESSION), PEOPLE)
    assert [(group.title, [track.feature.name for track in group.tracks]) for group in groups] == [
        ("Voice", ["f0_hz"]),
        ("Face", ["smile"]),
    ]
    assert "M0.0 50.0" in groups[1].tracks[0].lines[0].path and groups[0].tracks[0].high == "100 Hz"


def test_events_of_talk_are_bars_of_their_own_group():
    events = [
        {"person": "bob", "kind": "backchannel", "start_s": 1.0, "end_s": 2.0, "strength": 1.0, "text": "mhm"},
        {"person": "bob", "kind": "backchannel", "start_s": 3.0, "end_s": 3.0, "strength": 1.0, "text": "mhm"},
        {"person": "ann", "kind": "nod_yes", "start_s": 3.0, "end_s": 4.0, "strength": 0.1, "text": None},
        {"person": "ann", "kind": "laughter", "start_s": 3.0, "end_s": 4.0, "strength": None, "text": None},
    ]
    (group,) = tracks_of(None, (), axis_of(SESSION), PEOPLE, events)
    assert (group.title, [track.feature.title for track in group.tracks]) == ("Talk", ["Backchannels", "Laughter"])
    bars = re.findall(r"M([\d.]+) .*?H([\d.]+)V", group.tracks[0].lines[0].path)
    assert bars == [("100.0", "200.0"), ("300.0", "301.5")]


def test_without_times_or_figures_there_are_no_tracks():
    written = Session("s", (Turn(0, "ann", "Hi."),))
    assert tracks_of(frames("f0_hz", [(0.0, 1.0)]), (), axis_of(written), PEOPLE) == ()
    assert tracks_of(frames("head_x", [(0.0, 1.0)]), (), axis_of(SESSION), PEOPLE) == ()
    assert tracks_of(frames("f0_hz", [(0.0, float("nan"))]), (), axis_of(SESSION), PEOPLE) == ()


@given(st.lists(st.tuples(st.floats(-5, 20), st.floats(-1e6, 1e6)), min_size=1, max_size=40))
def test_lines_stay_inside_the_drawing(points):
    track = only(tracks_of(frames("f0_hz", points), (), axis_of(SESSION), PEOPLE))
    places = [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.-]+)", track.lines[0].path)]
    assert places and all(0 <= x <= 1000 and 0 <= y <= 100 for x, y in places)
    assert track.lines[0].person == PEOPLE["ann"]
