from pathlib import Path

import numpy as np
import pytest

from features.media import open_recording
from features.video import Picture, read_pictures
from tests.features.clips import flat, write_movie
from tests.shared import shared


def _pictures(path: Path, rate_hz: float = 10.0, width_px: int = 640) -> list[Picture]:
    with open_recording(path.parent, path.name, 1.0) as recording:
        return list(read_pictures(recording, recording.stream("video"), rate_hz, width_px))


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi"])
def test_steady_movie_is_sampled_at_the_rate(tmp_path: Path, name: str):
    pictures = _pictures(write_movie(tmp_path / name, [flat(v) for v in range(0, 200, 4)]))
    times = [p.time_s for p in pictures]
    assert times == pytest.approx([0.0, 0.12, 0.2, 0.32, 0.4, 0.52, 0.6, 0.72, 0.8, 0.92] + [1 + t for t in
        (0.0, 0.12, 0.2, 0.32, 0.4, 0.52, 0.6, 0.72, 0.8, 0.92)], abs=2e-3)  # fmt: skip
    assert [float(p.grey.mean()) for p in pictures] == pytest.approx([4 * round(t * 25) for t in times], abs=3)


def test_transport_stream_begins_at_zero(tmp_path: Path):
    path = write_movie(tmp_path / "a.ts", [flat()] * 50, codec="mpeg2video")
    assert _pictures(path)[0].time_s == pytest.approx(0.0, abs=1e-6)


def test_variable_frame_rate_keeps_presentation_times(tmp_path: Path):
    stamps = [0.0, 0.04, 0.08, 1.0, 1.5, 1.54, 1.58, 3.0]
    path = write_movie(tmp_path / "a.mkv", [flat(30 * i) for i in range(8)], times_s=stamps)
    pictures = _pictures(path)
    assert [p.time_s for p in pictures] == pytest.approx([0.0, 1.0, 1.5, 3.0], abs=2e-3)
    assert [float(p.grey.mean()) for p in pictures] == pytest.approx([0, 90, 120, 210], abs=4)


def test_real_variable_frame_rate():
    path = shared("media/face_noface.mov")
    with open_recording(path.parent, path.name, 1.0) as recording:
        truth = [frame.time for frame in recording.frames(recording.stream("video"))]
    by_number = np.arange(len(truth)) / (len(truth) / truth[-1])
    assert np.abs(by_number - truth).max() > 0.2  # what frame number / fps would be wrong by
    times = [p.time_s for p in _pictures(path)]
    assert set(times) <= set(truth)
    assert len(times) == 64
    assert max(np.diff(times)) < 0.16


def test_video_that_begins_after_its_sound():
    assert _pictures(shared("media/short_hamilton_clip.mp4"))[0].time_s == pytest.approx(0.852, abs=0.001)


def test_wide_pictures_are_scaled_down_and_narrow_ones_left(tmp_path: Path):
    path = write_movie(tmp_path / "a.mp4", [flat(width=64, height=48)] * 3)
    assert _pictures(path, width_px=32)[0].grey.shape == (24, 32)
    assert _pictures(path, width_px=640)[0].grey.shape == (48, 64)


def test_halves_of_a_side_by_side_picture():
    picture = Picture(0.0, np.hstack([flat(10), flat(200)]))
    assert picture.half("left").mean() == 10
    assert picture.half("right").mean() == 200
    assert picture.half(None).shape == (48, 128)


def test_rotation_mark_of_a_telephone_is_obeyed(tmp_path: Path):
    top_bright = np.vstack([flat(220, 64, 24), flat(20, 64, 24)])
    data = bytearray(write_movie(tmp_path / "a.mp4", [top_bright] * 5).read_bytes())
    place = data.index(b"tkhd") + 4 + 40  # the track header's matrix, version 0
    quarter_turn = [(0, 1 << 16, 0), (-(1 << 16), 0, 0), (0, 0, 1 << 30)]
    data[place : place + 36] = b"".join(v.to_bytes(4, "big", signed=True) for row in quarter_turn for v in row)
    (tmp_path / "b.mp4").write_bytes(data)
    grey = _pictures(tmp_path / "b.mp4")[0].grey
    assert grey.shape == (64, 48)
    # The matrix (0 1 / -1 0) turns the picture clockwise: what was on top is now at the right.
    assert grey[:, 36:].mean() > 200
    assert grey[:, :12].mean() < 40
