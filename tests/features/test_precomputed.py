import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Media
from apportion.features import registry
from apportion.features.precomputed import (
    EMOTION_COLUMNS,
    GAZE,
    precomputed_behaviour,
    read_precomputed,
    unmeasured_faces,
)
from apportion.foundation.errors import UnitError
from tests.corpus.importers.candor_tree import BEHAVIOUR, talk, write_table, write_tree

HEADER = "timedelta,user_id,gaze_on"
ANN = f"{HEADER}\n00:00:00,ann,1\n"


def written(tmp_path, text):
    path = tmp_path / "f.csv"
    path.write_text(text)
    return path


def test_the_made_up_candor(tmp_path):
    one = talk(1)
    folder = write_tree(tmp_path, [one], media=False) / one.id
    person = one.people[1]
    found = read_precomputed(folder / "audio_video_features.csv", person, 100.0)
    assert set(found) == {*registry.EMOTIONS, GAZE, "intensity_precomputed", "is_speaking_precomputed"}
    rows = [row for row in one.behaviour if row["user_id"] == person]
    for name, column in EMOTION_COLUMNS.items():
        expected = [math.nan if row[column] == "" else row[column] for row in rows]
        assert found[name].values == pytest.approx(expected, nan_ok=True)
    assert found["intensity_precomputed"].values == pytest.approx([row["intensity"] for row in rows])
    assert found["is_speaking_precomputed"].values[:4].tolist() == [1, 1, 0, 0]
    gaze = found[GAZE]
    assert gaze.starts_s.tolist() == [100.0 + second for second in range(len(rows))]
    assert (gaze.ends_s - gaze.starts_s).tolist() == [1.0] * len(rows)
    assert not any(series.decibel for series in found.values())
    mean, coverage = found["anger"].mean([(103.0, 104.0)], 1.0)
    assert (mean, coverage) == (None, 0.0)  # No face in second 3.


@pytest.mark.parametrize(
    ("text", "time_s"),
    [
        ("00:01:02", 62.0),
        ("1:00:00", 3600.0),
        ("00:00:01.500000", 1.5),
        ("0 days 00:00:01", 1.0),
        ("1 days 00:00:01.5", 86401.5),
        ("1 day 01:00:00", 90000.0),
        ("12", 12.0),
        ("12.25", 12.25),
    ],
)
def test_times(tmp_path, text, time_s):
    found = read_precomputed(written(tmp_path, f"{HEADER}\n{text},ann,1\n"), "ann", 0.0)
    assert found[GAZE].starts_s.tolist() == [time_s] and found[GAZE].ends_s.tolist() == [time_s + 1.0]


@given(st.lists(st.integers(0, 7200), min_size=1, max_size=30, unique=True), st.floats(-100, 100))
def test_any_order_of_rows_gives_cells_in_order_that_do_not_overlap(tmp_path_factory, halves, offset_s):
    rows = [{"timedelta": half / 2, "user_id": "ann", "gaze_on": (half % 5) / 4} for half in halves]
    path = tmp_path_factory.mktemp("t") / "f.csv"
    write_table(path, ("timedelta", "user_id", "gaze_on"), rows)
    gaze = read_precomputed(path, "ann", offset_s)[GAZE]
    assert gaze.starts_s == pytest.approx(np.array(sorted(halves)) / 2 + offset_s)
    assert (gaze.starts_s < gaze.ends_s).all() and (gaze.ends_s[:-1] <= gaze.starts_s[1:]).all()
    assert gaze.values.tolist() == [(half % 5) / 4 for half in sorted(halves)]


def test_rows_of_the_other_are_passed_over_and_a_file_must_be_there(tmp_path):
    found = read_precomputed(written(tmp_path, f"{ANN}never,bob,lots\n"), "ann", 0.0)
    assert found[GAZE].values.tolist() == [1.0]
    with pytest.raises(UnitError, match="no such file"):
        read_precomputed(tmp_path / "none.csv", "ann", 0.0)


def test_columns_of_unknown_meaning_are_kept_where_they_are_numbers(tmp_path):
    text = ",timedelta,user_id,gaze_on,mfcc_1,mood,always,empty,some\n"
    text += "0,0,ann,0.5,-3.5,calm,True,,\n1,1,ann,,2,7,False,nan,1e3\n"
    found = read_precomputed(written(tmp_path, text), "ann", 0.0)
    assert set(found) == {GAZE, "mfcc_1_precomputed", "always_precomputed", "some_precomputed"}
    assert found["mfcc_1_precomputed"].values.tolist() == [-3.5, 2.0]
    assert found["some_precomputed"].values == pytest.approx([math.nan, 1000.0], nan_ok=True)
    assert found[GAZE].values == pytest.approx([0.5, math.nan], nan_ok=True)


EMOTIONS = ",".join(EMOTION_COLUMNS.values())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "f.csv: the file is empty"),
        (HEADER + "\n", "no row of user_id 'ann'; there are rows of nobody"),
        ("time,user_id,gaze_on\n0,ann,1\n", "f.csv: no column 'timedelta'"),
        ("timedelta,userid,gaze_on\n0,ann,1\n", "no column 'user_id'; did you mean 'userid'"),
        ("timedelta,user_id,volume\n0,ann,1\n", r"no column that is known \(prob_face_anger, .*gaze_on\)"),
        ("timedelta,user_id,prob_face_anger\n0,ann,1\n", "no column 'prob_face_contempt'"),
        (f"{HEADER}\n,ann,1\n", "f.csv, line 2, column timedelta: ''; HH:MM:SS"),
        (f"{HEADER}\n1e300,ann,1\n", "column timedelta: '1e300'; .* 0 to 1,000,000 s, is needed"),
        (f"{HEADER}\n00:61:00,ann,1\n", "line 2, column timedelta: '00:61:00'"),
        (f"{HEADER}\n0,ann,1\n00:00:00,ann,0\n", r"line 3, column timedelta: '00:00:00'; a time of its own .*line 2"),
        (f"{HEADER}\n0,ann,1.5\n", "line 2, column gaze_on: '1.5'; a number from 0 to 1"),
        (f"{HEADER}\n0,ann,yes\n", "line 2, column gaze_on: 'yes'"),
        (f"timedelta,user_id,{EMOTIONS}\n0,ann,2{',0' * 7}\n", "line 2, column prob_face_anger: '2'"),
        (f"{HEADER}\n0,ann\n", "line 2: 2 cells; the first line names 3 columns"),
        (f'{HEADER}\n0,ann,"1\n', "line 2: not readable CSV"),
    ],
)
def test_files_that_cannot_be_trusted(tmp_path, text, words):
    with pytest.raises(UnitError, match=words):
        read_precomputed(written(tmp_path, text), "ann", 0.0)


def test_every_person_of_a_session(tmp_path):
    one = talk(1)
    folder = write_tree(tmp_path, [one], media=False) / one.id
    write_table(folder / "f.csv", BEHAVIOUR, one.behaviour)
    left, right = one.people
    media = [Media(right, "features", "f.csv", 5.0), Media(left, "features", "f.csv"), Media(left, "audio", "x.wav")]
    found = precomputed_behaviour(media, folder)
    assert list(found) == sorted(one.people)
    assert (found[left][GAZE].starts_s[0], found[right][GAZE].starts_s[0]) == (0.0, 5.0)
    assert precomputed_behaviour([], folder) == {}


def test_a_path_that_leads_out_is_refused(tmp_path):
    with pytest.raises(UnitError, match="leads outside the corpus folder"):
        precomputed_behaviour([Media("ann", "features", "../f.csv")], tmp_path)


def test_who_is_filmed_without_emotions_of_their_own(tmp_path):
    emotions = ",".join(EMOTION_COLUMNS.values())
    (tmp_path / "all.csv").write_text(f"timedelta,user_id,{emotions}\n00:00:00,ann{',0.125' * 8}\n")
    (tmp_path / "gaze.csv").write_text(f"{HEADER}\n00:00:00,bob,1\n")
    (tmp_path / "broken.csv").write_bytes(b"timedelta,timedelta\n")
    filmed = [Media(who, "video", f"{who}.mp4") for who in ("ann", "bob", "cid")]
    assert unmeasured_faces(filmed, tmp_path) == {"ann", "bob", "cid"}
    given = [("ann", "all.csv"), ("bob", "gaze.csv"), ("cid", "broken.csv"), ("dan", "all.csv")]
    rows = [Media(who, "features", path) for who, path in given]
    assert unmeasured_faces([*filmed, *rows], tmp_path) == {"bob", "cid"}
    for path in ("no.csv", "../all.csv", "https://example.org/all.csv"):
        assert unmeasured_faces([filmed[0], Media("ann", "features", path)], tmp_path) == {"ann"}


OPENFACE = """frame, face_id, timestamp, confidence, success, gaze_angle_x, gaze_angle_y, x_0, AU12_r, AU12_c, AU04_c
1, 0, 0.000, 0.98, 1, 0.01, 0.2, 0.1, 2.1, 1, 0
2, 0, 0.040, 0.98, 1, 0.40, 0.2, 0.1, 2.2, 1, 0
3, 0, 0.080, 0.02, 0, 0.00, 0.0, 0.0, 0.0, 0, 0
4, 0, 0.120, 0.98, 1, -0.1, 0.2, 0.1, 0.0, 0, 1
5, 0, 0.600, 0.98, 1, -0.1, 0.2, 0.1, 0.0, 0, 1
"""
EGEMAPS = """name;frameTime;Loudness_sma3;F0semitoneFrom27.5Hz_sma3nz;jitterLocal_sma3nz;HNRdBACF_sma3nz
'clip';0.00;0.2;0;0;0
'clip';0.01;0.9;24;0.02;-1.5
'clip';0.02;0.9;36;0.04;9.5
"""


def test_openface(tmp_path):
    found = read_precomputed(written(tmp_path, OPENFACE), "ann", 10.0, "openface")
    assert set(found) == {"smile", "frown", GAZE}
    assert found["smile"].values == pytest.approx([1.0, 1.0, math.nan, 0.0, 0.0], nan_ok=True)
    assert found[GAZE].values == pytest.approx([1.0, 0.0, math.nan, 1.0, 1.0], nan_ok=True)
    # The face was not seen in one picture, and there was none for a while.
    mean, coverage = found["smile"].mean([(10.0, 10.6)], 0.6)
    assert mean == pytest.approx(0.08 / 0.18) and coverage == pytest.approx(0.18 / 0.6)


def test_py_feat_knows_seven_emotions_and_counts_pictures(tmp_path):
    emotions = [name for name in registry.EMOTIONS if name != "contempt"]
    rows = [f"{10 * i},{'' if i == 1 else 0.9},{','.join('' if i == 1 else '0.1' for _ in emotions)}" for i in range(3)]
    path = written(tmp_path, "\n".join([f"frame,AU12,{','.join(emotions)}", *rows]))
    found = read_precomputed(path, "ann", 0.0, "py-feat@20")
    assert set(found) == {*registry.EMOTIONS, "smile"}
    assert found["smile"].starts_s.tolist() == [0.0, 0.5, 1.0]
    assert found["smile"].values == pytest.approx([1.0, math.nan, 1.0], nan_ok=True)
    assert found["anger"].mean([(0.0, 0.5)], 0.5) == (pytest.approx(0.1), pytest.approx(1.0))
    assert found["contempt"].mean([(0.0, 1.5)], 1.5) == (None, 0.0)


def test_opensmile(tmp_path):
    found = read_precomputed(written(tmp_path, EGEMAPS), "ann", 0.0, "egemaps")
    assert found["f0_hz"].values == pytest.approx([math.nan, 110.0, 220.0], nan_ok=True)
    assert found["jitter_local"].values == pytest.approx([math.nan, 0.02, 0.04], nan_ok=True)
    assert found["hnr_db"].values == pytest.approx([math.nan, -1.5, 9.5], nan_ok=True)
    assert found["f0_hz"].mean([(0.0, 0.03)], 0.03) == (pytest.approx(165.0), pytest.approx(2 / 3))


def test_mexca_and_single_columns(tmp_path):
    text = "frame,time,pitch_f0_hz,jitter_local_rel_f0,shimmer_local_rel_f0,hnr_db,rms_db\n0,0.0,200,0.01,0.1,12,-20\n"
    found = read_precomputed(written(tmp_path, text), "ann", 0.0, "mexca,rms_db:intensity_db")
    assert {name: series.values.tolist() for name, series in found.items()} == {
        "f0_hz": [200.0],
        "jitter_local": [0.01],
        "shimmer_local": [0.1],
        "hnr_db": [12.0],
        "intensity_db": [-20.0],
    }
    assert found["intensity_db"].decibel and not found["hnr_db"].decibel
    pitch = written(tmp_path, "t,f0\n0,0\n0.5,100\n")
    assert read_precomputed(pitch, "ann", 0.0, "f0:f0_hz,t:time")["f0_hz"].values == pytest.approx(
        [math.nan, 100.0], nan_ok=True
    )


@pytest.mark.parametrize(
    ("text", "chosen", "words"),
    [
        (OPENFACE, "egemaps", r"f.csv: no column 'frameTime'"),
        (OPENFACE, "a:smile", r"no column that is known \(a\). Is it the file that its map is meant for"),
        (OPENFACE, "AU12_r:smile", r"line 2, column AU12_r: '2.1'; a number from 0 to 1"),
        (OPENFACE, "smiles", "map=smiles: 'smiles' is no ready map"),
        (
            OPENFACE + "6, 0, 0.600, 0.98, 1, 0, 0, 0, 0, 0, 0\n",
            "openface",
            "line 7, column timestamp: '0.600'; a time of",
        ),
        ("time,a\n0,x\n", "a:smile", "line 2, column a: 'x'; a number, or an empty cell, is needed"),
        ("start,end,F0semitoneFrom27.5Hz_sma3nz\n0,1,20000\n", "egemaps", "'20000'; a smaller number, or an empty"),
        ("frame,AU12\n00:00:01,1\n", "py-feat@25", "line 2, column frame: '00:00:01'"),
    ],
)
def test_files_of_others_that_cannot_be_trusted(tmp_path, text, chosen, words):
    with pytest.raises(UnitError, match=words):
        read_precomputed(written(tmp_path, text), "ann", 0.0, chosen)


def test_a_map_with_all_eight_emotions_stands_in_place_of_a_model(tmp_path):
    seven = ",".join(name for name in registry.EMOTIONS if name != "contempt")
    (tmp_path / "ann.csv").write_text(f"frame,{seven}\n0{',0' * 7}\n")
    filmed = Media("ann", "video", "ann.mp4")
    for chosen, needing in (("py-feat@25", set()), ("anger:anger,frame:time@25", {"ann"}), ("none", {"ann"})):
        assert unmeasured_faces([filmed, Media("ann", "features", "ann.csv", 0.0, chosen)], tmp_path) == needing
