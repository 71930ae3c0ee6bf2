"""From single looks to series."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from apportion.features.face.face import Face, FaceVisibility
from apportion.features.face.mesh import expressions
from apportion.features.face.mesh.expressions import MeshExpressions
from apportion.features.face.mesh.eyes import NO_EYES, Eyes
from apportion.features.face.mesh.frame_features import NOT_SEEN, FaceFrameFeatures
from apportion.features.face.mesh.head_pose import HeadPose
from apportion.features.media_io.video import Picture
from apportion.features.settings import FeatureSettings
from tests.features.clips import flat

STRAIGHT = HeadPose(0.0, 0.0, 0.0)


def look(smile: float = 0.0, gaze: float = 0.0, opening: float = 0.4, confidence: float = 1.0) -> FaceFrameFeatures:
    return FaceFrameFeatures(smile, 0.1, STRAIGHT, Eyes(opening, gaze, 0.0), gaze, confidence)


def told(monkeypatch: pytest.MonkeyPatch, looks, forget=None, **settings):
    """Series of ``looks``, one every tenth of a second, looked at as often as ``settings`` say."""
    asked: list[tuple[float, bool]] = []

    def read(detector, picture, face, with_eyes, smile_level):
        asked.append((picture.time_s, with_eyes))
        told = looks[round(10 * picture.time_s)]
        return told if with_eyes else replace(told, eyes=NO_EYES)

    monkeypatch.setattr(expressions, "read_face", read)
    meter = MeshExpressions(FeatureSettings(detector="mesh", **settings), None)
    for number in range(len(looks)):
        meter.note(number / 10, FaceVisibility(Picture(number / 10, flat()), Face(0, 0, 10)))
    if forget:
        meter.forget(forget)
    result = meter.told()
    assert result.blinks == () or "eyes_closed" in result.series
    return result.series, {**result.traces, "blinks": result.blinks}, asked


def test_points_and_eyes_have_rates_of_their_own(monkeypatch):
    _, traces, asked = told(monkeypatch, [look()] * 20, mesh_rate_hz=5.0, iris_rate_hz=2.5)
    assert [time_s for time_s, _ in asked] == pytest.approx([n / 5 for n in range(10)])
    assert [time_s for time_s, eyes in asked if eyes] == pytest.approx([0.0, 0.4, 0.8, 1.2, 1.6])
    assert len(traces["eye_opening"].values) == 5 and len(traces["head_yaw_deg"].values) == 10


def test_a_face_is_best_checked_where_its_points_are_read_anyway(monkeypatch):
    monkeypatch.setattr(expressions, "read_face", lambda *_: look())
    meter = MeshExpressions(FeatureSettings(detector="mesh", mesh_rate_hz=5.0), None)
    good = []
    for number in range(12):
        good.append(meter.looks(number / 15))
        meter.note(number / 15, FaceVisibility(Picture(number / 15, flat()), Face(0, 0, 10)))
    assert [number for number, one in enumerate(good) if one] == [0, 3, 6, 9]


def test_what_is_decided_over_three_looks_or_not_told(monkeypatch):
    looks = [look()] * 20 + [look(1.0)] * 3 + [look()] * 20 + [look(1.0)] * 20
    series, traces, _ = told(monkeypatch, looks, mesh_rate_hz=10.0)
    assert series["smile"].values[:40].tolist() == [0.0] * 40  # A syllable is none.
    assert series["smile"].values[45:].tolist() == [1.0] * 18
    assert traces["smile_score"].values[21] == 1.0
    looks = [look(gaze=30.0)] * 5 + [look(gaze=30.0, confidence=0.1)] * 5
    series, traces, _ = told(monkeypatch, looks, mesh_rate_hz=10.0, iris_rate_hz=10.0)
    assert series["gaze_on_screen"].values[:5].tolist() == [0.0] * 5
    assert all(map(math.isnan, series["gaze_on_screen"].values[5:]))
    assert traces["gaze_confidence"].values[9] == 0.1


def test_closed_eyes_look_nowhere_and_a_blink_is_no_closed_eye(monkeypatch):
    looks = [look()] * 5 + [look(opening=0.1)] * 2 + [look()] * 5 + [look(opening=0.1)] * 10
    series, traces, _ = told(monkeypatch, looks, mesh_rate_hz=10.0, iris_rate_hz=10.0)
    gaze, closed, blink = series["gaze_on_screen"].values, series["eyes_closed"].values, traces["blink"].values
    assert all(math.isnan(value) for value in (*gaze[5:7], *gaze[12:]))
    assert gaze[[0, 7, 11]].tolist() == [1.0, 1.0, 1.0]
    assert closed.tolist() == [0.0] * 12 + [1.0] * 10
    assert blink.tolist() == [0.0] * 5 + [1.0] * 2 + [0.0] * 15
    assert traces["blinks"] == (pytest.approx((0.4, 0.7)),)


def test_without_the_iris_the_head_tells(monkeypatch):
    looks = [FaceFrameFeatures(0.0, 0.1, STRAIGHT, NO_EYES, gaze, 0.5) for gaze in (0.0, 0.0, 40.0, 40.0)]
    series, _, asked = told(monkeypatch, looks, mesh_rate_hz=10.0, iris_rate_hz=0.0)
    assert series["gaze_on_screen"].values.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert not any(eyes for _, eyes in asked) and "eyes_closed" not in series


def test_what_is_not_seen_or_taken_back_is_unobserved_and_never_0(monkeypatch):
    series, _, _ = told(monkeypatch, [look(1.0)] * 10 + [NOT_SEEN] * 10, (0.45, 0.75), mesh_rate_hz=10.0)
    values = series["smile"].values
    assert all(map(math.isnan, (*values[5:8], *values[10:])))
    assert values[[0, 4, 8, 9]].tolist() == [1.0] * 4
    assert all(map(math.isnan, series["gaze_on_screen"].values[4:]))  # looks at 1.2 s and later


def test_brows_and_mouth_are_decided_over_a_second(monkeypatch):
    still = FaceFrameFeatures(0.0, 0.05, STRAIGHT, NO_EYES, 0.0, 1.0, 0.23, 0.2)
    looks = [still] * 40 + [replace(still, brows=0.26, mouth=0.3)] * 20 + [replace(still, inner_brows=0.16)] * 20
    series, traces, _ = told(monkeypatch, looks, mesh_rate_hz=10.0, iris_rate_hz=0.0)
    raised, open_mouth, frown = (series[name].values for name in ("brow_raise", "mouth_open", "frown"))
    assert raised[:39].sum() == 0 and raised[45:55].tolist() == [1.0] * 10 and raised[66:].sum() == 0
    assert open_mouth.tolist() == raised.tolist()
    assert frown[:59].sum() == 0 and frown[66:].tolist() == [1.0] * 14
    assert traces["brow_height"].values[50] == 0.26 and traces["inner_brow_height"].values[70] == 0.16
