"""Everything that is measured in one person's sound, on whole tracks, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from apportion.features.media_io.audio import Track
from apportion.features.media_io.chunks import AudioBlock
from apportion.features.registry import Measured, measure_track
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Series, Span
from apportion.features.voice.energy import energy_series
from apportion.features.voice.intensity import intensity_series
from apportion.features.voice.jitter import Jitter, track_jitter
from apportion.features.voice.pitch import pitch_series, track_pitch


@dataclass(frozen=True)
class Voice:
    """One person's voice on the session clock: series by feature name, and what tells its jitter."""

    series: dict[str, Series]
    jitter: Jitter

    def measure(self, spans: Sequence[Span], length_s: float) -> dict[str, Measured]:
        """Mean and coverage of every voice feature over ``spans``, a window of ``length_s`` seconds."""
        return measure_track("voice", self, spans, length_s)


def measure_voice(track: Track, settings: FeatureSettings) -> Voice:
    """Pitch, intensity, log energy and jitter of a track whose clock is the session's, analysed in one piece.

    Whole tracks are analysed and sliced later: Praat refuses pieces under 0.1 s, and its windows would be cut at
    every utterance's edge.
    """
    return _measure(AudioBlock(track), settings)


def measure_blocks(blocks: Iterable[AudioBlock], settings: FeatureSettings) -> Voice:
    """The same, of a track in blocks (``features.media_io.chunks``): what one block needs is all that is held."""
    voice: Voice | None = None
    parts: dict[str, list[Series]] = {}
    for block in blocks:
        measured = _measure(block, settings)
        for name, series in measured.series.items():
            parts.setdefault(name, []).append(series)
        voice = measured if voice is None else Voice(measured.series, voice.jitter.then(measured.jitter))
    if voice is None:
        return measure_voice(Track(np.zeros(0, dtype=np.float32), 1, 0.0), settings)
    return Voice({name: _joined(series) for name, series in parts.items()}, voice.jitter)


def _measure(block: AudioBlock, settings: FeatureSettings) -> Voice:
    import parselmouth

    track = block.track
    if not len(track.samples):
        empty = energy_series(track)
        jitter = track_jitter(None, None, settings, block.core)
        return Voice({"f0_hz": empty, "intensity_db": empty, "log_energy_db": empty}, jitter)
    sound = parselmouth.Sound(track.samples, sampling_frequency=track.rate_hz, start_time=track.start_s)
    pitch = track_pitch(sound, settings.pitch_floor_hz, settings.pitch_ceiling_hz)
    series = {
        "f0_hz": pitch_series(pitch),
        "intensity_db": intensity_series(sound, settings.pitch_floor_hz),
        "log_energy_db": energy_series(track),
    }
    jitter = track_jitter(sound, pitch, settings, block.core)
    return Voice({name: s.within(block.core) for name, s in series.items()}, jitter)


def _joined(parts: Sequence[Series]) -> Series:
    """Series of the blocks of one track as one; a cell gives way to the next block's."""
    if len(parts) == 1:
        return parts[0]
    starts = np.concatenate([part.starts_s for part in parts])
    ends = np.concatenate([part.ends_s for part in parts])
    ends[:-1] = np.minimum(ends[:-1], starts[1:])
    return Series(starts, ends, np.concatenate([part.values for part in parts]), parts[0].decibel)
