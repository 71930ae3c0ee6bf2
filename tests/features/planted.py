"""Clips of a talking head with nods, shakes, smiles and glances at known times, drawn on the spot."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

Span = tuple[float, float]
DURATION_S = 14.0
FACE_OF_SQUARE = 0.41
"""Height of the face in heights of the drawn square, which fills the picture's height."""
LEVELS = 6
"""Mouths are drawn in so many steps and kept: drawing each anew takes most of the time."""


@dataclass(frozen=True)
class Clip:
    """What one clip shows and how it was recorded."""

    name: str
    seed: int
    size: tuple[int, int] = (320, 240)
    fps: float = 25.0
    look: str = "ana"
    fill: float = 1.0
    """Height of the person's square in picture heights."""
    variable: bool = False
    late_s: float = 0.0
    """When the first picture is shown: a video that begins after its sound."""
    noise: float = 0.0
    second: bool = False
    """Whether a smaller second person, who nods and smiles at other times, sits beside."""
    hidden: Span | None = None
    """When something is held before the face."""
    gain: float = 1.0
    events: bool = True


@dataclass(frozen=True)
class Happening:
    """One planted event on the clock of the recording, seconds."""

    kind: str
    start_s: float
    end_s: float
    size: float
    hz: float = 0.0


CLIPS = tuple(
    [
        Clip(f"rate_{fps:g}", seed, fps=fps)
        for seed, fps in enumerate((10.0, 12.5, 15.0, 20.0, 24.0, 25.0, 29.97, 30.0, 50.0, 60.0))
    ]
    + [
        Clip(f"size_{width}x{height}", 20 + seed, (width, height), fps=15.0, look="bea")
        for seed, (width, height) in enumerate(((160, 120), (240, 240), (320, 240), (480, 360), (640, 360), (640, 480)))
    ]
    + [Clip(f"far_{fill:g}", 30 + seed, (480, 360), 15.0, fill=fill) for seed, fill in enumerate((0.5, 0.6, 0.75))]
    + [Clip(f"variable_{seed}", 40 + seed, fps=25.0, variable=True) for seed in range(4)]
    + [Clip(f"late_{late:g}", 50 + seed, fps=20.0, late_s=late) for seed, late in enumerate((0.4, 0.85, 2.0))]
    + [Clip(f"noise_{noise:g}", 60 + seed, fps=20.0, noise=noise) for seed, noise in enumerate((4.0, 8.0, 12.0))]
    + [Clip(f"two_{seed}", 70 + seed, (480, 270), fps=15.0, second=True) for seed in range(3)]
    + [Clip(f"hidden_{seed}", 80 + seed, fps=20.0, hidden=(5.0 + seed, 7.0 + seed)) for seed in range(3)]
    + [Clip(f"dark_{gain:g}", 90 + seed, fps=20.0, gain=gain) for seed, gain in enumerate((0.35, 0.6))]
    + [Clip(f"still_{seed}", 100 + seed, fps=20.0, events=False) for seed in range(2)]
)
"""What a camera and a room can do, one thing at a time (synthetic: drawn from one photograph)."""


def happenings(clip: Clip) -> list[Happening]:
    """Nods and shakes one after the other; smiles and glances beside them; none while the face is hidden."""
    if not clip.events:
        return []
    rng = random.Random(clip.seed)
    planned: list[Happening] = []
    clock = 0.8
    while clock < DURATION_S - 2.6:
        kind, length = rng.choice(("nod_yes", "nod_no", "sway")), rng.uniform(1.0, 1.9)
        size, hz = (rng.uniform(0.1, 0.2), rng.uniform(1.2, 2.4)) if kind != "sway" else (rng.uniform(0.15, 0.3), 0.0)
        planned.append(Happening(kind, clock, clock + length, size, hz))
        clock += length + rng.uniform(1.2, 2.0)
    for kind in ("smile", "glance"):
        clock = rng.uniform(0.5, 2.0)
        while clock < DURATION_S - 2.0:
            length = rng.uniform(1.5, 2.5)
            planned.append(Happening(kind, clock, clock + length, rng.choice((-1.0, 1.0)) if kind == "glance" else 1.0))
            clock += length + rng.uniform(2.0, 3.0)
    shown = [h for h in planned if clip.hidden is None or h.end_s < clip.hidden[0] or h.start_s > clip.hidden[1]]
    return [Happening(h.kind, h.start_s + clip.late_s, h.end_s + clip.late_s, h.size, h.hz) for h in shown]


def frame_times(clip: Clip) -> list[float]:
    """Presentation time of every picture, seconds; with a variable rate some come much later than others."""
    rng = random.Random(1000 + clip.seed)
    times, clock = [], 0.0
    while clock < DURATION_S:
        times.append(clock + clip.late_s)
        clock += (rng.choice((0.5, 1.0, 1.0, 2.2)) if clip.variable else 1.0) / clip.fps
    return times


def write_clip(clip: Clip, folder: Path) -> Path:
    """Draw and encode ``clip``; the file also has a silent track from 0 s on."""
    width, height = clip.size
    events = happenings(clip)
    path = folder / f"{clip.name}.mp4"
    noise = np.random.default_rng(clip.seed)
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=Fraction(clip.fps).limit_denominator(1001))
        video.width, video.height, video.pix_fmt, video.thread_count = width, height, "yuv420p", 1
        video.options = {"crf": "23", "preset": "ultrafast", "threads": "1"}
        video.codec_context.time_base = Fraction(1, 90000)
        sound = container.add_stream("aac", rate=8000, layout="mono")
        for time_s in frame_times(clip):
            image = _picture(clip, events, time_s)
            if clip.noise:
                grain = noise.standard_normal(image.shape, np.float32)
                image = np.clip(image + clip.noise * grain, 0, 255).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            frame.pts, frame.time_base = round(time_s * 90000), Fraction(1, 90000)
            container.mux(video.encode(frame))
        container.mux(video.encode())
        for start in range(0, round((DURATION_S + clip.late_s) * 8000), 1024):
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            silence.sample_rate, silence.pts, silence.time_base = 8000, start, Fraction(1, 8000)
            container.mux(sound.encode(silence))
        container.mux(sound.encode())
    return path


def _picture(clip: Clip, events: Sequence[Happening], time_s: float) -> np.ndarray:

    width, height = clip.size
    side = round(clip.fill * height)
    person = _resized(_drawn(clip.look, events, time_s), side)
    image = np.empty((height, width, 3), np.uint8)
    image[:] = person[2, 2]
    left = round(0.08 * width) if clip.second else (width - side) // 2
    right = min(width, left + side)
    image[height - side :, left:right] = person[:, : right - left]
    if clip.second:
        small = round(0.55 * height)
        others = [Happening(e.kind, e.start_s + 2.3, e.end_s + 2.3, e.size, e.hz) for e in events]
        image[height - small :, width - small :] = _resized(_drawn("bea", others, time_s), small)
    if clip.hidden and clip.hidden[0] <= time_s - clip.late_s < clip.hidden[1]:
        image[round(0.15 * height) : round(0.75 * height), width // 4 : 3 * width // 4] = (90, 110, 120)
    return np.clip(image * clip.gain, 0, 255).astype(np.uint8) if clip.gain != 1.0 else image


def _resized(square: np.ndarray, side: int) -> np.ndarray:
    import cv2

    # Averaging takes five times as long, and shows only where much is left out.
    way = cv2.INTER_AREA if side < len(square) / 2 else cv2.INTER_LINEAR
    return cv2.resize(square, (side, side), interpolation=way)


def _drawn(look: str, events: Sequence[Happening], time_s: float) -> np.ndarray:
    """The person's square; the head moves over a still body as the events and a slow drift say."""
    from apportion.demo.builders.faces import SIZE

    unit = FACE_OF_SQUARE * SIZE
    right, down = 2.5 * math.sin(0.8 * time_s), 2.5 * math.sin(0.5 * time_s + 1.0)
    smile, glance = 0.0, 0.0
    for event in events:
        if event.kind == "sway":
            right += event.size * unit * _ramp((time_s - event.start_s) / (event.end_s - event.start_s)) * 0.5
        if not event.start_s <= time_s < event.end_s:
            continue
        if event.kind in ("nod_yes", "nod_no"):
            ease = _ramp(min(time_s - event.start_s, event.end_s - time_s) / 0.25)
            swing = event.size * unit * ease * math.sin(2 * math.pi * event.hz * (time_s - event.start_s))
            right, down = (right, down + swing) if event.kind == "nod_yes" else (right + swing, down)
        elif event.kind == "smile":
            smile = _ramp(min(time_s - event.start_s, event.end_s - time_s) / 0.25)
        else:
            glance = event.size
    jaw = 0.4 * max(0.0, math.sin(7.0 * time_s)) if math.sin(0.9 * time_s) > 0.3 else 0.0
    return drawn(look, round(smile * LEVELS), round(jaw * LEVELS), glance, round(right, 1), round(down, 1))


def drawn(
    look: str, smile: int = 0, jaw: int = 0, glance: float = 0.0, right: float = 0.0, down: float = 0.0
) -> np.ndarray:
    """One person's square, BGR; ``smile`` and ``jaw`` in steps of 1 / LEVELS."""
    person = _person(look)
    from apportion.demo.builders.faces import Pose

    picture: np.ndarray = person.draw(Pose(right, down, 0.0, smile / LEVELS, jaw / LEVELS, glance))
    return picture


@cache
def _person(look: str) -> Any:
    pytest.importorskip("skimage", reason="scikit-image carries the face; pip install -e '.[dev]'")
    from apportion.demo.builders.faces import LOOKS, Face

    return Face(LOOKS[look])


def _ramp(share: float) -> float:
    x = min(max(share, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def spans(events: Sequence[Happening], kind: str) -> list[Span]:
    return [(e.start_s, e.end_s) for e in events if e.kind == kind]


def matched(planted: Sequence[Span], found: Sequence[Span]) -> int:
    """How many planted events meet a found one; each is used once, in order of time."""
    free = sorted(found)
    hits = 0
    for start_s, end_s in sorted(planted):
        meeting = next((span for span in free if min(end_s, span[1]) - max(start_s, span[0]) > 0), None)
        if meeting is not None:
            free.remove(meeting)
            hits += 1
    return hits


def f1(hits: int, planted: int, found: int) -> float:
    return 2 * hits / (planted + found) if planted + found else math.nan


def truth_at(times_s: Sequence[float], chosen: Sequence[Span]) -> Iterator[bool]:
    return (any(start_s <= time_s < end_s for start_s, end_s in chosen) for time_s in times_s)
