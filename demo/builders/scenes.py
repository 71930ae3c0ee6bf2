"""The pictures of the videos: how a head moves through a session, and one mp4 a person."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from apportion.demo.builders.faces import LOOKS, SIZE, Face, Pose
from apportion.demo.builders.films import Film, media_path
from apportion.demo.builders.planting import Event
from apportion.demo.builders.voices import RATE_HZ, Sound, loudness

FRAME_RATE = 15
CRF, AUDIO_BIT_RATE = "25", 40_000
DRIFT_PX, DRIFT_HZ = 2.6, (0.09, 0.17)
NOD_PX, NOD_HZ, SHAKE_TURN_DEG = 15.0, 2.0, 2.5
"""A face is about 140 px high, so a nod spans 0.2 face heights."""
EASE_S, MOUTH_OPEN = 0.3, 0.8


def shoot(film: Film, root: Path, seed: int) -> list[Path]:
    """Draw and write the recordings of ``film`` into the corpus folder ``root``; returns their paths."""
    session = film.planted.session
    paths = []
    for person, sound in film.sounds.items():
        path = root / media_path(session.session_id, person)
        path.parent.mkdir(parents=True, exist_ok=True)
        events = [event for event in film.planted.events if event.person == person]
        rng = random.Random(f"{seed}:{session.session_id}:{person}:motion")
        _encode(path, Face(LOOKS[person]), list(poses(events, sound, rng)), sound)
        paths.append(path)
    return paths


def poses(events: Sequence[Event], sound: Sound, rng: random.Random) -> Iterator[Pose]:
    """One pose a frame: a slow drift always, the planted events, and a mouth that follows the person's own voice."""
    frames = len(sound) * FRAME_RATE // RATE_HZ
    phases = [rng.uniform(0.0, 2 * math.pi) for _ in range(3)]
    rates = [rng.uniform(*DRIFT_HZ) for _ in range(3)]
    open_mouth = loudness(sound, frames, FRAME_RATE)
    for frame in range(frames):
        time_s = frame / FRAME_RATE
        drift = [
            DRIFT_PX * math.sin(2 * math.pi * rate * time_s + phase) for rate, phase in zip(rates, phases, strict=True)
        ]
        nod, shake = _swing(events, "nod_yes", time_s), _swing(events, "nod_no", time_s)
        yield Pose(
            right_px=drift[0] + NOD_PX * shake,
            down_px=drift[1] + NOD_PX * nod,
            turn_deg=0.3 * drift[2] + SHAKE_TURN_DEG * shake,
            smile=max((_ease(event, time_s) for event in events if event.kind == "smile"), default=0.0),
            jaw=MOUTH_OPEN * float(open_mouth[frame]),
        )


def _swing(events: Sequence[Event], kind: str, time_s: float) -> float:
    """Where the head is in its nod or shake, -1 to 1; 0 outside."""
    return sum(
        _ease(event, time_s) * math.sin(2 * math.pi * NOD_HZ * (time_s - event.start_s))
        for event in events
        if event.kind == kind
    )


def _ease(event: Event, time_s: float) -> float:
    """0 outside the event, 1 in its middle, with soft ramps at its ends."""
    inside_s = min(time_s - event.start_s, event.end_s - time_s)
    ramp = min(max(inside_s / EASE_S, 0.0), 1.0)
    return ramp * ramp * (3.0 - 2.0 * ramp)


def _encode(path: Path, face: Face, frames: Sequence[Pose], sound: Sound) -> None:
    # One thread: x264 with several gives other bytes on another number of cores.
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as file:
        picture = file.add_stream("libx264", rate=FRAME_RATE)
        picture.width = picture.height = SIZE
        picture.pix_fmt = "yuv420p"
        picture.thread_count = 1
        picture.options = {"crf": CRF, "preset": "slow", "threads": "1"}
        voice = file.add_stream("aac", rate=RATE_HZ, layout="mono")
        voice.bit_rate = AUDIO_BIT_RATE
        step = RATE_HZ // FRAME_RATE
        for number, pose in enumerate(frames):
            image = av.VideoFrame.from_ndarray(face.draw(pose), format="bgr24")
            image.pts, image.time_base = number, Fraction(1, FRAME_RATE)
            file.mux(picture.encode(image))
            file.mux(voice.encode(_audio(sound[number * step : (number + 1) * step], number * step)))
        file.mux(picture.encode())
        file.mux(voice.encode())


def _audio(samples: Sound, start: int) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples)[None], format="fltp", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = RATE_HZ, start, Fraction(1, RATE_HZ)
    return frame
