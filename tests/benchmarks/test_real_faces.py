from collections import Counter

import numpy as np
import pytest

from apportion.features.face.face_features import FaceMeasures
from apportion.features.face.nods import HeadEvents
from apportion.features.time_series import Series
from benchmarks.real_faces import NOT_OPEN, NOT_SEEN, rates, read_moments, says_faces_camera, says_smile, show

NAN = float("nan")


def face(**series):
    starts = np.arange(3.0)
    told = {name: Series(starts, starts + 1, np.array(values)) for name, values in series.items()}
    return FaceMeasures(told, {}, HeadEvents((), ()), Series(starts, starts + 1, np.ones(3)))


@pytest.mark.parametrize("state", NOT_OPEN)
def test_eyes_that_are_not_open_do_not_face_the_camera_though_they_look_nowhere(state):
    seen = face(gaze_on_screen=[NAN, 1.0, 0.0], smile=[1.0, 0.0, NAN], **{state: [1.0, 0.0, NAN]})
    assert [says_faces_camera(seen, t) for t in (0.5, 1.5, 2.5, 3.5)] == ["no", "yes", "no", NOT_SEEN]
    assert [says_smile(seen, t) for t in (0.5, 1.5, 2.5)] == ["yes", "no", NOT_SEEN]


def test_a_back_end_without_lids_tells_the_gaze_alone():
    assert says_faces_camera(face(gaze_on_screen=[1.0, NAN, 0.0]), 0.5) == "yes"


def test_not_seen_is_a_miss_of_what_was_there():
    answers = [("a", "yes", "yes"), ("a", "yes", NOT_SEEN), ("a", "no", "yes"), ("a", "no", NOT_SEEN)]
    assert rates(answers, "yes") == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("left_out", [{"unclear": 2, "yes": 1}, {"unclear": 2, "differ": 3, "yes": 1}])
def test_moments_left_out_are_counted_by_why(capsys, left_out):
    show("mesh: smile", [("a", "yes", "yes")], Counter(left_out), "yes")
    told = capsys.readouterr().out
    assert "1 moments; 2 unclear" in told and ("3 differ" in told) == ("differ" in left_out)


def test_a_table_of_two_viewers_is_read_like_one_of_one(tmp_path):
    table = tmp_path / "moments.csv"
    table.write_text("file,t_s,smile_first,smile_second,smile,faces_camera\na.mp4,0.25,yes,no,differ,no\n")
    (moment,) = read_moments(table)
    assert (moment.file, moment.t_s, moment.smile, moment.faces_camera) == ("a.mp4", 0.25, "differ", "no")
