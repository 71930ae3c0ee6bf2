"""Synthetic voices: buzzes with a planted loudness and pitch, no speech and nobody's. Named in RAVDESS's layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.features.clips import write_wav

RATE_HZ = 16_000


def buzz(rng: np.random.Generator, hz: float, level: float, seconds: float = 0.6) -> np.ndarray:
    """Harmonics of ``hz`` (float32 samples, -1 to 1) that waver a little, with silence around."""
    t = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    wavering = hz * (t + 0.003 * np.sin(2 * np.pi * 4 * t) / (2 * np.pi * 4))
    sound = sum(np.sin(2 * np.pi * k * wavering) / k for k in range(1, 6))
    quiet = np.zeros(int(0.1 * RATE_HZ))
    noise = rng.normal(0, 1e-4, len(t) + 2 * len(quiet))
    return (np.concatenate([quiet, level * sound / 3, quiet]) + noise).astype(np.float32)


def write_clips(folder: Path, actors: int = 4, statements: int = 3, planted: bool = True, seed: int = 0) -> Path:
    """``actors`` synthetic voices, each with a pitch and level of its own, ``statements`` clips of either intensity.

    Where ``planted``, the strong ones are louder by 4 to 8 dB and higher by a fifth; else they are as the normal ones.
    """
    rng = np.random.default_rng(seed)
    for actor in range(1, actors + 1):
        place = folder / f"Actor_{actor:02}"
        place.mkdir(parents=True)
        own_hz, own_level = rng.uniform(100, 250), rng.uniform(0.02, 0.1)
        for statement in range(1, statements + 1):
            for strong in (False, True):
                raised = planted and strong
                hz = own_hz * (1.2 if raised else 1.0) * rng.uniform(0.97, 1.03)
                level = own_level * 10 ** ((rng.uniform(4, 8) if raised else rng.uniform(-1, 1)) / 20)
                name = f"03-01-05-{'02' if strong else '01'}-{statement:02}-01-{actor:02}.wav"
                write_wav(place / name, buzz(rng, hz, level))
    return folder
