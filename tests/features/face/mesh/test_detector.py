"""The networks themselves on drawn faces; skipped where they were not fetched."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import cv2
import numpy as np
import pytest

from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.face.backends.yunet import YuNetDetector
from apportion.features.face.detector import open_detector
from apportion.features.face.face import Face
from apportion.features.face.mesh import networks
from apportion.features.face.mesh.detector import Look, MeshDetector
from apportion.features.face.mesh.frame_features import NOT_SEEN, FaceFrameFeatures, read_face
from apportion.features.face.mesh.landmarks import FacePoints
from apportion.features.media_io.video import Picture
from apportion.features.settings import DescriptorThresholds, FeatureSettings
from apportion.foundation.errors import InputError
from apportion.foundation.model_hub import mesh as mesh_files
from tests.features.clips import flat, write_movie
from tests.features.drawn_eyes import with_lids
from tests.features.face.mesh.networks_here import mesh_here  # noqa: F401
from tests.features.planted import drawn
from tests.shared import shared

SETTINGS = FeatureSettings(detector="mesh", emotion_model="none")


def luma(square: np.ndarray) -> np.ndarray:
    return np.asarray(cv2.cvtColor(square, cv2.COLOR_BGR2GRAY), np.uint8)


def read(square: np.ndarray) -> FaceFrameFeatures:
    detector, picture = MeshDetector(SETTINGS), Picture(0.0, luma(square))
    found = detector.find(picture, picture.luma, None)
    return read_face(detector, picture, found[0] if found else None, True, FeatureSettings().smile_level)


@pytest.mark.usefixtures("mesh_here")
@pytest.mark.parametrize("look", ["ana", "bea"])
def test_drawn_smiles_glances_and_lids_are_read(look):
    still = read(drawn(look))
    assert still.smile < 0.3 and abs(still.gaze) < 6 and still.eyes.opening > 0.3 and still.confidence > 0.7
    assert abs(still.pose.yaw) < 3 and abs(still.pose.pitch) < 3 and abs(still.pose.roll) < 5
    scores = [read(drawn(look, smile=step)).smile for step in (0, 3, 6)]
    assert scores[0] < 0.3 < SETTINGS.smile_level < scores[1] < scores[2]
    faint, plain = (read(drawn(look, smile=step)).smile for step in (1, 2))
    assert SETTINGS.smile_level < faint < DescriptorThresholds().weak_smile < plain < scores[1]
    assert read(drawn(look, jaw=6)).smile < 0.3
    left, right = (read(drawn(look, glance=glance)).gaze for glance in (-1.0, 1.0))
    assert left < -15 and right > 15
    openings = [read(with_lids(drawn(look), share, look == "bea")).eyes.opening for share in (0.0, 0.5, 0.75, 1.0)]
    assert openings == sorted(openings, reverse=True)
    assert openings[1] > SETTINGS.eyes_closed_opening > openings[2]


@pytest.mark.usefixtures("mesh_here")
def test_the_head_s_roll_is_read_and_a_face_is_found_again_where_it_was():
    turn = cv2.getRotationMatrix2D((160, 150), -20, 1.0)  # OpenCV turns against the clock
    rolled = cv2.warpAffine(drawn("ana"), turn, (320, 320), borderMode=cv2.BORDER_REPLICATE)
    assert read(rolled).pose.roll == pytest.approx(read(drawn("ana")).pose.roll + 20, abs=3)
    detector, picture = MeshDetector(SETTINGS), Picture(0.0, luma(drawn("ana")))
    first = detector.find(picture, picture.luma, None)[0]
    again = detector.find(Picture(0.1, luma(drawn("ana", right=12.0))), picture.luma, first)[0]
    assert again.x - first.x == pytest.approx(12, abs=3) and again.overlap(first) > 0.7
    assert detector.find(Picture(0.2, luma(drawn("ana"))), picture.luma, Face(0, 200, 60)) == []


@pytest.mark.usefixtures("mesh_here")
def test_the_square_is_that_of_the_other_back_ends():
    yunet = YuNetDetector(FeatureSettings(yunet_model=shared("models/face_detection_yunet_2026may.onnx")))
    picture = Picture(0.0, luma(drawn("bea")))
    mine = MeshDetector(SETTINGS).find(picture, picture.luma, None)[0]
    theirs = yunet.find(picture, picture.luma, None)[0]
    assert mine.overlap(theirs) > 0.75


@pytest.mark.usefixtures("mesh_here")
def test_a_face_in_a_wide_picture_is_found_and_what_is_none_is_not():
    wide = np.full((180, 640), 90, np.uint8)
    wide[:, 430:610] = cv2.resize(luma(drawn("ana")), (180, 180), interpolation=cv2.INTER_AREA)
    small = cv2.resize(wide, (320, 90), interpolation=cv2.INTER_AREA)
    detector = open_detector(SETTINGS)
    found = detector.find(Picture(0.0, wide), small, None)
    assert len(found) == 1 and 215 < found[0].centre[0] < 305
    assert detector.find(Picture(0.1, flat()), flat(), None) == []
    assert isinstance(detector, MeshDetector)
    nothing = read_face(detector, Picture(0.2, flat()), Face(10, 10, 30), True, 0.55)
    assert nothing is NOT_SEEN and math.isnan(nothing.smile)
    assert read_face(detector, Picture(0.3, flat()), None, True, 0.55) is NOT_SEEN


@pytest.mark.usefixtures("mesh_here")
def test_a_film_without_a_face_has_no_smile_and_no_gaze(tmp_path: Path):
    write_movie(tmp_path / "a.mp4", [flat()] * 25)
    session = Session("s", (Turn(0, "b", "x", 0.0, 1.0),), media=(Media("a", "video", "a.mp4"),))
    frames, means, _ = extract_session(session, tmp_path, SETTINGS)
    told = {row["feature"]: (row["mean"], row["coverage"]) for row in means.to_pylist() if row["window"] == "during"}
    assert told["smile"] == told["gaze_on_screen"] == told["nod_yes"] == (None, 0.0)
    assert frames.num_rows == 0


@pytest.mark.usefixtures("mesh_here")
def test_a_film_is_read_the_same_twice_and_its_smile_where_it_is(tmp_path: Path):
    pictures = [luma(drawn("ana", smile=6 if 20 <= number < 40 else 0, right=number % 5)) for number in range(60)]
    write_movie(tmp_path / "a.mp4", pictures, fps=10)
    turns = (Turn(0, "b", "x", 2.5, 3.5), Turn(1, "b", "y", 4.6, 5.9))
    session = Session("s", turns, media=(Media("a", "video", "a.mp4"),))
    frames, means, _ = extract_session(session, tmp_path, SETTINGS)
    told = {(row["turn"], row["feature"]): row["mean"] for row in means.to_pylist() if row["window"] == "during"}
    assert [told[turn, "smile"] for turn in (0, 1)] == [1.0, 0.0]
    assert [told[turn, "gaze_on_screen"] for turn in (0, 1)] == [1.0, 1.0]
    again, same, _ = extract_session(session, tmp_path, SETTINGS)
    assert again.equals(frames) and same.equals(means)


def test_missing_networks_are_told_with_the_next_step():
    with pytest.raises(InputError, match=r"not here\. Get them with `apportion models fetch mesh`, or take .*haar"):
        open_detector(SETTINGS)


def test_a_file_that_is_no_network_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for file in mesh_files.mesh_files():
        (tmp_path / file.name).write_bytes(b"no network")
    monkeypatch.setattr(networks, "find_mesh", lambda: tmp_path)
    with pytest.raises(InputError, match=r"face_detection_short_range\.tflite: no network of .*models fetch mesh"):
        open_detector(SETTINGS)


@pytest.mark.parametrize("error", [ZeroDivisionError, OverflowError, MemoryError, TypeError, KeyError, struct.error])
def test_whatever_damaged_bytes_raise_is_told_the_same(error: type[Exception], tmp_path: Path, monkeypatch):
    def damaged(_: bytes) -> bytes:
        raise error("damaged")

    (tmp_path / "net.tflite").write_bytes(b"bytes")
    monkeypatch.setattr(networks, "to_onnx", damaged)
    with pytest.raises(InputError, match=r"net\.tflite: no network of .*damaged.*models fetch mesh"):
        networks._opened(tmp_path / "net.tflite")


def test_points_are_looked_for_where_the_last_ones_went():
    look = Look(Picture(1.0, flat()), Face(10.0, 10.0, 20.0), FacePoints(_oval(20.0, 22.0, 12.0), 1.0))
    here, there = look.crop_at(look.face), look.crop_at(Face(30.0, 50.0, 40.0))
    assert here == look.points.crop()
    # Twice as large, and its middle as far from the face's, in sides of it.
    assert (there.side, there.roll) == (2 * here.side, here.roll)
    assert (there.x - 50.0, there.y - 70.0) == pytest.approx((2 * (here.x - 20.0), 2 * (here.y - 20.0)))


@pytest.mark.usefixtures("mesh_here")
def test_a_picture_of_the_same_time_is_another_one_and_a_glance_changes_nothing():
    ana, bea = (luma(drawn(look)) for look in ("ana", "bea"))
    detector, alone = MeshDetector(SETTINGS), MeshDetector(SETTINGS)
    first, second = Picture(1.0, ana), Picture(1.0, bea)
    face = detector.find(first, ana, None)[0]
    of_ana = detector.points_at(first, face)
    assert detector.points_at(first, face) is of_ana  # asked again about the same picture
    of_bea, right = detector.points_at(second, face), alone.points_at(second, face)
    assert of_bea is not None and right is not None and np.array_equal(of_bea.points, right.points)
    later = Picture(1.2, ana)
    glanced = detector.glance(later, face)
    assert glanced is not None and detector.points_at(second, face) is of_bea  # bea's are still the latest


def test_points_lead_to_later_pictures_of_the_same_recording_alone():
    mine, other = object(), object()
    look = Look(Picture(1.0, flat(), recording=mine), Face(10.0, 10.0, 20.0), FacePoints(_oval(20.0, 22.0, 12.0), 1.0))
    pictures = [(1.2, mine), (2.0, mine), (2.1, mine), (1.0, mine), (0.9, mine), (1.2, other), (1.2, None)]
    led = [look.leads_to(Picture(time_s, flat(), recording=recording)) for time_s, recording in pictures]
    assert led == [True, True, False, False, False, False, False]


def _oval(x: float, y: float, radius: float) -> np.ndarray:
    angles = np.linspace(0, 2 * math.pi, 468, endpoint=False)
    return np.column_stack([x + radius * np.cos(angles), y + 1.2 * radius * np.sin(angles), 0 * angles])
