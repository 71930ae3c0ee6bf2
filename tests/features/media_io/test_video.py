from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.media_io.media import open_recording
from apportion.features.media_io.video import FrameSkipper, Picture, can_spare, read_pictures
from apportion.features.sampling_clock import Clock, interval
from tests.features.clips import flat, write_movie
from tests.shared import shared


def _pictures(path: Path, rate_hz: float = 10.0, thrifty: bool = True) -> list[Picture]:
    with open_recording(path.parent, path.name, 1.0) as recording:
        return list(read_pictures(recording, recording.stream("video"), rate_hz, thrifty))


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi"])
def test_steady_movie_is_sampled_at_the_rate(tmp_path: Path, name: str):
    pictures = _pictures(write_movie(tmp_path / name, [flat(v) for v in range(0, 200, 4)]))
    times = [p.time_s for p in pictures]
    assert times == pytest.approx([0.0, 0.12, 0.2, 0.32, 0.4, 0.52, 0.6, 0.72, 0.8, 0.92] + [1 + t for t in
        (0.0, 0.12, 0.2, 0.32, 0.4, 0.52, 0.6, 0.72, 0.8, 0.92)], abs=2e-3)  # fmt: skip
    assert [_grey_level(p.luma) for p in pictures] == pytest.approx([4 * round(t * 25) for t in times], abs=3)


def test_a_clock_that_does_not_begin_with_the_picture(tmp_path: Path):
    path = write_movie(tmp_path / "a.ts", [flat()] * 50, codec="mpeg2video")
    assert _pictures(path)[0].time_s == pytest.approx(0.0, abs=1e-6)
    assert _pictures(shared("media/short_hamilton_clip.mp4"))[0].time_s == pytest.approx(0.852, abs=0.001)


def test_variable_frame_rate_keeps_presentation_times(tmp_path: Path):
    stamps = [0.0, 0.04, 0.08, 1.0, 1.5, 1.54, 1.58, 3.0]
    path = write_movie(tmp_path / "a.mkv", [flat(30 * i) for i in range(8)], times_s=stamps)
    pictures = _pictures(path)
    assert [p.time_s for p in pictures] == pytest.approx([0.0, 1.0, 1.5, 3.0], abs=2e-3)
    assert [_grey_level(p.luma) for p in pictures] == pytest.approx([0, 90, 120, 210], abs=4)


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


def _grey_level(luma: np.ndarray) -> float:
    """0 to 255 from a video's limited range, 16 to 235."""
    return (float(luma.mean()) - 16) * 255 / 219


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv444p", "yuv420p10le", "bgr0"])
def test_every_pixel_format_gives_brightness(tmp_path: Path, pixels: str):
    codec = "mpeg4" if pixels == "yuv420p" else "ffv1"
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, pixels
        for value in (40, 120, 200):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), value, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    means = [float(p.luma.mean()) for p in _pictures(tmp_path / "a.mkv")]
    assert means == sorted(means)
    assert np.diff(means) == pytest.approx([70 if "yuv" in pixels and "10" not in pixels else 80] * 2, abs=12)
    colours = [p.colours() for p in _pictures(tmp_path / "a.mkv")]
    assert [c.shape for c in colours] == [(48, 64, 3)] * 3
    assert [float(c.mean()) for c in colours] == pytest.approx([40, 120, 200], abs=4)


def test_without_the_deblocking_filter_pictures_hardly_differ():
    path = shared("media/WolfgangLanger_Pexels.mp4")
    thrifty, full = _pictures(path, 5.0), _pictures(path, 5.0, thrifty=False)
    assert [p.time_s for p in thrifty] == [p.time_s for p in full]
    differences = [np.abs(a.luma.astype(int) - b.luma).mean() for a, b in zip(thrifty, full, strict=True)]
    assert max(differences) < 2.0


def test_halves_of_a_side_by_side_picture(tmp_path: Path):
    picture = Picture(0.0, np.hstack([flat(10), flat(200)]))
    assert picture.half("left").luma.mean() == 10
    assert picture.half("right").luma.mean() == 200
    assert picture.half(None).luma.shape == (48, 128)
    (picture,) = _pictures(write_movie(tmp_path / "a.mp4", [np.hstack([flat(20), flat(220)])]))
    assert picture.half("right").colours().mean() == pytest.approx(220, abs=6)
    assert picture.half("left").colours().shape == (48, 64, 3)


MILLISECOND = Fraction(1, 1000)


def _packet(pts: int | None, is_discard: bool = False) -> Any:
    return SimpleNamespace(pts=pts, time_base=MILLISECOND, is_discard=is_discard)


def _moving(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    noise = cv2.GaussianBlur(rng.integers(0, 255, (48, 64 + count), dtype=np.uint8), (0, 0), 6.0)
    return [np.ascontiguousarray(noise[:, at : at + 64]) for at in range(count)]


def test_pictures_are_the_same_and_fewer_are_decoded(tmp_path: Path):
    path = write_movie(tmp_path / "a.mp4", _moving(100), fps=30, codec="libx264")
    with open_recording(tmp_path, path.name, 1.0) as recording:
        stream = recording.stream("video")
        stream.codec_context.options = {"skip_loop_filter": "all"}
        clock = Clock(15.0)
        frames = list(recording.frames(stream))
        expected = [(f.time, f.to_ndarray()[:48, :64].copy()) for f in frames if clock.ticks(f.time)]
    with open_recording(tmp_path, path.name, 1.0) as recording:
        told = [(p.time_s, p.luma.copy()) for p in read_pictures(recording, recording.stream("video"), 15.0)]
    with open_recording(tmp_path, path.name, 1.0) as recording:
        stream = recording.stream("video")
        decoded = len(list(recording.frames(stream, FrameSkipper(15.0, recording.origin_s))))
    assert [time_s for time_s, _ in told] == [time_s for time_s, _ in expected]
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(told, expected, strict=True))
    assert len(told) <= decoded < 80 < len(frames) == 100


@pytest.mark.parametrize("name", ["single_face.mp4", "face_noface.mov"])
def test_a_real_film_shows_the_same_pictures(name: str):
    path = shared(f"media/{name}")
    with open_recording(path.parent, name, 1.0) as recording:
        stream = recording.stream("video")
        stream.codec_context.options = {"skip_loop_filter": "all"}
        clock = Clock(10.0)
        times = [frame.time - recording.origin_s for frame in recording.frames(stream) if frame.time is not None]
        expected = [time_s for time_s in times if clock.ticks(time_s)]
    with open_recording(path.parent, name, 1.0) as recording:
        assert [p.time_s for p in read_pictures(recording, recording.stream("video"), 10.0)] == expected


def test_an_interlaced_film_is_decoded_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with av.open(str(tmp_path / "a.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"x264-params": "interlaced=1"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for picture in _moving(100):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.stack([picture] * 3, axis=2), format="rgb24")))
        container.mux(stream.encode(None))
    answers: list[bool] = []
    ask = FrameSkipper.__call__
    monkeypatch.setattr(FrameSkipper, "__call__", lambda *given: answers.append(ask(*given)) or answers[-1])
    with open_recording(tmp_path, "a.mp4", 1.0) as recording:
        assert len(list(read_pictures(recording, recording.stream("video"), 15.0))) == 50
    assert len(answers) == 101  # and the end of the stream
    assert not any(answers[20:])  # The decoder gives its first picture some packets late.


@pytest.mark.parametrize(
    ("name", "codec", "answer"),
    [
        ("a.mp4", "libx264", True),
        ("a.mkv", "libx264", True),
        ("a.ts", "libx264", False),  # A packet can be one field of two.
        ("a.mp4", "mpeg4", False),
    ],
)
def test_only_where_a_packet_is_a_picture_that_says_who_needs_it(tmp_path: Path, name: str, codec: str, answer: bool):
    path = write_movie(tmp_path / name, [flat()] * 10, codec=codec)
    with open_recording(tmp_path, path.name, 1.0) as recording:
        assert can_spare(recording, recording.stream("video")) is answer


def test_a_picture_is_spared_when_one_of_its_interval_came_before():
    spared = FrameSkipper(10.0, 0.0)
    # The decoder's order: the second interval begins, then the first one goes on; 205 is nobody's successor yet.
    stamps = (0, 100, 60, 140, 205, 200, 230)
    assert [spared(_packet(pts)) for pts in stamps] == [False, False, True, True, False, False, True]


def test_what_is_not_shown_or_has_no_stamp_spares_nothing_by_the_recording_s_own_clock():
    spared = FrameSkipper(10.0, 0.0)
    assert not spared(_packet(0, is_discard=True))
    assert not spared(_packet(None))
    assert not spared(_packet(30))
    assert spared(_packet(60))
    spared = FrameSkipper(10.0, 0.05)
    assert [spared(_packet(pts)) for pts in (50, 140, 150)] == [False, True, False]


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=40, unique=True), st.sampled_from([5.0, 10.0, 15.0]))
def test_the_first_of_every_interval_is_left(stamps: list[int], rate_hz: float):
    spared = FrameSkipper(rate_hz, 0.0)
    left = {pts for pts in stamps if not spared(_packet(pts))}
    firsts: dict[int, int] = {}
    for pts in sorted(stamps):
        firsts.setdefault(interval(float(pts * MILLISECOND), rate_hz), pts)
    assert set(firsts.values()) <= left
