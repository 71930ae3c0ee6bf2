"""The voices of the videos, spoken by espeak-ng (only needed to make the corpus)."""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Sound = NDArray[np.float32]

RATE_HZ = 22050
TESTED_VERSION = "1.51"
QUIET = 0.01
"""Below this share of full scale a spoken line has ended (or not begun)."""


@dataclass(frozen=True)
class Voice:
    """An espeak-ng voice: its name, the pitch setting of a calm line, and how far that goes up or down (0 to 99)."""

    name: str
    pitch: int
    step: int
    words_per_minute: int


VOICES = {
    "ana": Voice("en-us+f2", pitch=48, step=28, words_per_minute=172),
    "bea": Voice("en-us+linda", pitch=40, step=26, words_per_minute=178),
}


def espeak_version() -> str:
    """The version of the espeak-ng on this machine, such as ``1.51``; other versions may speak in other bytes.

    Raises ``SystemExit``: espeak-ng is not installed.
    """
    if shutil.which("espeak-ng") is None:
        raise SystemExit(
            "espeak-ng is not installed, and it speaks the voices of the demo videos: apt-get install espeak-ng. "
            "The corpus in demo/corpus is already made; nobody needs this to run the demo."
        )
    banner = subprocess.run(["espeak-ng", "--version"], check=True, capture_output=True, text=True).stdout
    return banner.split(":")[1].split()[0]


def speak(text: str, voice: Voice, pitch_steps: float) -> Sound:
    """``text`` as float32 samples [K] at ``RATE_HZ``, without silence at its ends; peak 0.5 of full scale.

    ``text``: one line. ``voice``: who speaks. ``pitch_steps``: 0 is calm, 1 raised, -1 lowered by the voice's ``step``.
    """
    pitch = round(voice.pitch + pitch_steps * voice.step)
    command = ["espeak-ng", "-v", voice.name, "-p", str(pitch), "-s", str(voice.words_per_minute), "--stdout", text]
    content = subprocess.run(command, check=True, capture_output=True).stdout
    with wave.open(io.BytesIO(content)) as file:
        if file.getframerate() != RATE_HZ:
            raise SystemExit(f"espeak-ng spoke at {file.getframerate()} Hz; this script was written for {RATE_HZ} Hz.")
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
    heard = np.flatnonzero(np.abs(samples) > QUIET)
    samples = samples[heard[0] : heard[-1] + 1]
    levelled: Sound = (samples * (0.5 / np.abs(samples).max())).astype(np.float32)
    return levelled


def loudness(sound: Sound, frames: int, frame_rate: int) -> Sound:
    """How loud ``sound`` [K] is in each of ``frames`` video frames, 0 to 1: it opens the speaker's mouth."""
    length = RATE_HZ // frame_rate
    padded = np.zeros(frames * length, np.float32)
    kept = min(len(sound), len(padded))
    padded[:kept] = sound[:kept]
    rms = np.sqrt((padded.reshape(frames, length) ** 2).mean(axis=1))
    return np.asarray(np.clip(rms / 0.2, 0.0, 1.0), np.float32)
