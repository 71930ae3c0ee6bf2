"""Everything that is measured in one person's sound, on whole tracks, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apportion.features.media_io.audio import Track
from apportion.features.media_io.chunks import AudioBlock
from apportion.features.registry import Measured, measure_track
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Series, Span, sampled
from apportion.features.voice.jitter import Jitter, track_jitter
from apportion.features.voice.pitch import pitch_series, track_pitch

SILENCE_DB = -200.0
"""Praat gives -300 dB for digital silence; no microphone gets near this."""


def intensity_series(sound: Any, floor_hz: float) -> Series:
    """Intensity in dB relative to 20 micropascal [F] of a whole ``parselmouth.Sound``; full scale counts as 1 Pa.

    Digital silence is NaN, and a sound shorter than Praat's window (6.4 / floor) gives an empty series. Means over
    it are energy means: on one recording that is 60.6 dB where the mean of the decibels is 47.7 dB. It stands in
    for LLM-GELI's intensity, which is "from a predictor trained on RAVDESS" that is not public.
    """
    if sound.duration < 6.4 / floor_hz + sound.dx:
        return sampled([], [], 1.0, decibel=True)
    intensity = sound.to_intensity(minimum_pitch=floor_hz)
    values = intensity.values[0].astype(np.float64)
    return sampled(intensity.xs(), np.where(values > SILENCE_DB, values, np.nan), intensity.dx, decibel=True)


STEP_S = 0.01


def energy_series(track: Track) -> Series:
    """10*log10(mean(x^2)) in dB relative to full scale [F], over steps of 10 ms; NaN for digital silence.

    Source: log energy of LLM-GELI section 5.1, which is librosa's: its RMS in decibels, over steps that do not overlap.
    Means over it are energy means, so that the value of an utterance is 10*log10(mean(x^2)) of its samples.
    DisVoice normalises the peak first; we do not, because a person's loudness relative to their own other utterances
    is what the descriptors tell.
    """
    step = max(1, round(STEP_S * track.rate_hz))
    whole = len(track.samples) // step * step
    sound, rest = track.samples[:whole], track.samples[whole:]
    power = np.zeros(0)
    if whole:
        import librosa

        rms = librosa.feature.rms(y=sound, frame_length=step, hop_length=step, center=False)[0, : whole // step]
        power = rms.astype(np.float64) ** 2
    if len(rest):
        power = np.append(power, np.mean(rest.astype(np.float64) ** 2))
    values = np.full(len(power), np.nan)
    values[power > 0] = 10.0 * np.log10(power[power > 0])
    edges = np.minimum(np.arange(len(power) + 1, dtype=np.float64) * step, len(track.samples)) / track.rate_hz
    return Series(track.start_s + edges[:-1], track.start_s + edges[1:], values, decibel=True)


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
