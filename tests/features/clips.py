"""Small recordings made on the spot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

Point = tuple[float, float]


def write_wav(path: Path, samples: np.ndarray, rate_hz: int = 16000, codec: str = "pcm_f32le") -> Path:
    """A WAV of ``samples`` [K] or [channels, K], -1 to 1."""
    planes = np.atleast_2d(samples).astype(np.float32)
    layout = {1: "mono", 2: "stereo", 4: "quad", 6: "5.1"}[len(planes)]
    with av.open(str(path), "w", format="wav") as container:
        stream = container.add_stream(codec, rate=rate_hz, layout=layout)
        _encode_audio(container, stream, planes, rate_hz, layout, 1024, 0)
    return path


def write_movie(
    path: Path,
    pictures: Sequence[np.ndarray],
    times_s: Sequence[float] | None = None,
    fps: int = 25,
    sound: np.ndarray | None = None,
    codec: str = "mpeg4",
    options: dict[str, str] | None = None,
    container_format: str | None = None,
) -> Path:
    """A movie of grey ``pictures`` at ``times_s`` (default: steady), with mono ``sound`` at 16 kHz if given."""
    with av.open(str(path), "w", format=container_format, options=options or {}) as container:
        video = container.add_stream(codec, rate=fps)
        video.height, video.width = pictures[0].shape
        video.pix_fmt, video.bit_rate = "yuv420p", 1_000_000
        ticks = 1000 if times_s is not None else fps
        video.codec_context.time_base = _fraction(1, ticks)
        audio = container.add_stream("aac", rate=16000, layout="mono") if sound is not None else None
        for index, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(np.stack([picture] * 3, axis=2), format="rgb24")
            frame.pts = index if times_s is None else round(times_s[index] * ticks)
            frame.time_base = _fraction(1, ticks)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if audio is not None and sound is not None:
            _encode_audio(container, audio, np.atleast_2d(sound).astype(np.float32), 16000, "mono", 1024, 0)
    return path


def write_two_videos(path: Path, first: Sequence[np.ndarray], second: Sequence[np.ndarray], fps: int = 25) -> Path:
    """A movie that holds two videos of grey pictures of the same length."""
    with av.open(str(path), "w") as container:
        streams = [container.add_stream("mpeg4", rate=fps) for _ in range(2)]
        for stream, pictures in zip(streams, (first, second), strict=True):
            stream.height, stream.width = pictures[0].shape
            stream.pix_fmt, stream.bit_rate = "yuv420p", 1_000_000
        for both in zip(first, second, strict=True):
            for stream, picture in zip(streams, both, strict=True):
                frame = av.VideoFrame.from_ndarray(np.stack([picture] * 3, axis=2), format="rgb24")
                container.mux(stream.encode(frame))
        for stream in streams:
            container.mux(stream.encode(None))
    return path


def write_tracks(path: Path, tracks: Sequence[np.ndarray], pictures: Sequence[np.ndarray] = ()) -> Path:
    """Several tracks of mono sound at 16 kHz in one file, which begins with a movie of grey ``pictures`` if given."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("mpeg4", rate=25) if pictures else None
        streams = [container.add_stream("aac", rate=16000, layout="mono") for _ in tracks]
        if video is not None:
            video.height, video.width = pictures[0].shape
            video.pix_fmt = "yuv420p"
            for picture in pictures:
                frame = av.VideoFrame.from_ndarray(np.stack([picture] * 3, axis=2), format="rgb24")
                container.mux(video.encode(frame))
            container.mux(video.encode(None))
        for stream, samples in zip(streams, tracks, strict=True):
            _encode_audio(container, stream, np.atleast_2d(samples).astype(np.float32), 16000, "mono", 1024, 0)
    return path


def write_mp3_without_header(path: Path, samples: np.ndarray) -> Path:
    """A VBR MP3 of mono ``samples`` at 16 kHz in which nothing says how long it is."""
    with av.open(str(path), "w", options={"write_xing": "0", "id3v2_version": "0"}) as container:
        stream = container.add_stream("libmp3lame", rate=16000, layout="mono", options={"q": "6"})
        stream.codec_context.qscale = True
        _encode_audio(container, stream, np.atleast_2d(samples).astype(np.float32), 16000, "mono", 576, 0)
    return path


def laid_out(path: Path, matrix: Sequence[int], copy: Path) -> Path:
    """A copy of an mp4 whose track says ``matrix`` (a, b, c, d: x' = ax + cy, y' = bx + dy) of how it is shown."""
    data = bytearray(path.read_bytes())
    place = data.index(b"tkhd") + 4 + 40  # the track header's matrix, version 0
    a, b, c, d = (value << 16 for value in matrix)
    rows = (a, b, 0, c, d, 0, 0, 0, 1 << 30)
    data[place : place + 36] = b"".join(value.to_bytes(4, "big", signed=True) for value in rows)
    copy.write_bytes(data)
    return copy


def _fraction(a: int, b: int) -> Any:
    from fractions import Fraction

    return Fraction(a, b)


def _encode_audio(
    container: Any, stream: Any, planes: np.ndarray, rate_hz: int, layout: str, size: int, first: int
) -> None:
    for start in range(0, planes.shape[1], size):
        part = np.ascontiguousarray(planes[:, start : start + size])
        frame = av.AudioFrame.from_ndarray(part, format="fltp", layout=layout)
        frame.sample_rate, frame.pts = rate_hz, first + start
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def tone(seconds: float, hz: float = 150.0, rate_hz: int = 16000, level: float = 0.3) -> np.ndarray:
    """A buzz with harmonics [K], which Praat hears as a voice of ``hz``."""
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    return level * sum(np.sin(2 * np.pi * hz * k * t) / k for k in range(1, 6)) / 2


def flat(value: int = 90, width: int = 64, height: int = 48) -> np.ndarray:
    return np.full((height, width), value, dtype=np.uint8)


def astronaut(width: int = 256) -> np.ndarray:
    """A grey face [width, width], public domain; skips where scikit-image (only needed for the demo) is missing."""
    pytest.importorskip("skimage", reason="scikit-image carries the face; pip install scikit-image")
    import cv2
    from skimage.data import astronaut as picture

    return cv2.resize(cv2.cvtColor(picture(), cv2.COLOR_RGB2GRAY), (width, width), interpolation=cv2.INTER_AREA)


def moving(picture: np.ndarray, place: Callable[[float], Point], times_s: Sequence[float]) -> list[np.ndarray]:
    """``picture`` moved by ``place(time_s)`` pixels (right, down) at each time."""
    import cv2

    size = picture.shape[::-1]
    shifts = [np.array([[1, 0, dx], [0, 1, dy]], dtype=np.float32) for dx, dy in map(place, times_s)]
    return [cv2.warpAffine(picture, shift, size, borderMode=cv2.BORDER_REPLICATE) for shift in shifts]


def wave(time_s: float, start_s: float, cycles: int, hz: float, size: float) -> float:
    """A burst of ``cycles`` of a sine that begins at ``start_s``, 0 elsewhere."""
    inside = start_s <= time_s < start_s + cycles / hz
    return size * math.sin(2 * math.pi * hz * (time_s - start_s)) if inside else 0.0
