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
from apportion.features.media_io.video import REMEMBERED, FrameSkipper, can_spare, read_pictures
from apportion.features.sampling_clock import Clock, interval
from tests.features.clips import flat, write_movie
from tests.shared import shared

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


@pytest.mark.parametrize("name", ["WolfgangLanger_Pexels.mp4", "single_face.mp4", "face_noface.mov"])
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


def test_what_is_not_shown_or_has_no_stamp_spares_nothing():
    spared = FrameSkipper(10.0, 0.0)
    assert not spared(_packet(0, is_discard=True))
    assert not spared(_packet(None))
    assert not spared(_packet(30))
    assert spared(_packet(60))


def test_the_recordings_own_clock_counts():
    spared = FrameSkipper(10.0, 0.05)
    assert [spared(_packet(pts)) for pts in (50, 140, 150)] == [False, True, False]


def test_intervals_long_gone_are_forgotten():
    spared = FrameSkipper(10.0, 0.0)
    for number in range(3 * REMEMBERED):
        assert not spared(_packet(100 * number))
    assert len(spared._firsts) == REMEMBERED


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=40, unique=True), st.sampled_from([5.0, 10.0, 15.0]))
def test_the_first_of_every_interval_is_left(stamps: list[int], rate_hz: float):
    spared = FrameSkipper(rate_hz, 0.0)
    left = {pts for pts in stamps if not spared(_packet(pts))}
    firsts: dict[int, int] = {}
    for pts in sorted(stamps):
        firsts.setdefault(interval(float(pts * MILLISECOND), rate_hz), pts)
    assert set(firsts.values()) <= left
