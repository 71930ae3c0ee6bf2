"""Everything that is measured in one person's sound, on whole tracks, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from apportion.features.media_io.audio import Track
from apportion.features.media_io.chunks import AudioBlock, in_one
from apportion.features.registry import Measured, measure_track
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Series, Span, sampled
from apportion.features.voice.jitter import Jitter, find_pulses, track_jitter
from apportion.features.voice.laughter import Bout, find_bouts, laughter
from apportion.features.voice.pitch import Range, hnr_series, pitch_range, pitch_series, praat_sound, track_pitch
from apportion.features.voice.shimmer import Periods, find_periods
from apportion.features.voice.spectral_tilt import Bands, find_bands
from apportion.features.voice.speech_rate import (
    DIGITAL_SILENCE_DB,
    articulation_rate,
    contour_series,
    pause_series,
    syllable_nuclei,
)
from apportion.foundation.arrays import Floats

INTENSITY_FLOOR_HZ = 75.0
"""Where no floor is named: one window for all people, whose levels are compared."""


def intensity_series(sound: Any, floor_hz: float) -> Series:
    """Intensity in dB relative to 20 micropascal [F] of a whole ``parselmouth.Sound``; full scale counts as 1 Pa.

    Digital silence is NaN, and a sound that is None or shorter than Praat's window (6.4 / floor) is empty. Means over
    it are energy means: on one recording that is 60.6 dB where the mean of the decibels is 47.7 dB. It stands in
    for LLM-GELI's intensity, which is "from a predictor trained on RAVDESS" that is not public.
    """
    if sound is None or sound.duration < 6.4 / floor_hz + sound.dx:
        return sampled([], [], 1.0, decibel=True)
    intensity = sound.to_intensity(minimum_pitch=floor_hz)
    values = intensity.values[0].astype(np.float64)
    return sampled(intensity.xs(), np.where(values > DIGITAL_SILENCE_DB, values, np.nan), intensity.dx, decibel=True)


STEP_S = 0.01


def energy_series(track: Track) -> Series:
    """10*log10(mean(x^2)) in dB relative to full scale [F], over steps of 10 ms; NaN for digital silence.

    Source: log energy of LLM-GELI section 5.1, which is librosa's: its RMS in decibels, over steps that do not overlap.
    Means over it are energy means, so that the value of an utterance is 10*log10(mean(x^2)) of its samples.
    DisVoice normalises the peak first; we do not, because a person's loudness relative to their own other utterances
    is what the descriptors tell.
    """
    step = max(1, round(STEP_S * track.rate_hz))
    sound = track.samples
    starts = np.arange(0, len(sound), step)
    if not len(starts):
        return sampled([], [], 1.0, decibel=True)
    lengths = np.diff(starts, append=len(sound))
    whole = len(sound) // step * step
    power = np.zeros(len(starts))
    if whole:
        import librosa

        rms = librosa.feature.rms(y=sound[:whole], frame_length=step, hop_length=step, center=False)[0, : whole // step]
        power[: whole // step] = rms.astype(np.float64) ** 2
    if len(sound) > whole:
        power[-1] = np.mean(sound[whole:].astype(np.float64) ** 2)
    level = np.maximum.reduceat(sound, starts) == np.minimum.reduceat(sound, starts)
    values = np.full(len(power), np.nan)
    heard = (power > 0) & ~(level & (lengths > 1))
    values[heard] = 10.0 * np.log10(power[heard])
    starts_s = track.start_s + starts / track.rate_hz
    return Series(starts_s, starts_s + lengths / track.rate_hz, values, decibel=True)


@dataclass(frozen=True)
class Voice:
    """One person's voice on the session clock: series by feature name, and what tells the rest.

    ``syllables`` are the times of their nuclei in seconds [K], ``laughter`` its bouts, ``range_hz`` where the pitch was
    looked for.
    """

    series: dict[str, Series]
    jitter: Jitter
    periods: Periods
    bands: Bands
    syllables: Floats
    laughter: tuple[Span, ...]
    range_hz: Range

    def measure(self, spans: Sequence[Span], length_s: float) -> dict[str, Measured]:
        """Mean and coverage of every voice feature over ``spans``, a window of ``length_s`` seconds."""
        return measure_track("voice", self, spans, length_s)

    def syllable_rate(self, spans: Sequence[Span], length_s: float) -> float | None:
        """Syllables a second that is no pause; see ``articulation_rate``."""
        return articulation_rate(self.syllables, self.series["pause_fraction"], spans, length_s)


def measure_voice(track: Track, settings: FeatureSettings, own: Sequence[Span] = ()) -> Voice:
    """Everything of a track whose clock is the session's, analysed in one piece; ``own`` as for ``measure_blocks``.

    Whole tracks are analysed and sliced later: Praat refuses pieces under 0.1 s, and its windows would be cut at
    every utterance's edge.
    """
    return measure_blocks([in_one(track)], settings, own)


def measure_blocks(blocks: Iterable[AudioBlock], settings: FeatureSettings, own: Sequence[Span] = ()) -> Voice:
    """The same, of a track in blocks (``features.media_io.chunks``), of which one at a time is held.

    ``blocks`` are gone through twice: first for the person's range of pitch. ``own``: when the person has the floor
    (nothing: always).
    """
    range_hz = pitch_range(blocks, settings, own)
    parts = [_measure(block, settings, range_hz) for block in blocks]
    if not parts:
        return measure_voice(Track(np.zeros(0, dtype=np.float32), 1, 0.0), settings)
    series = {name: _joined([part.series[name] for part in parts]) for name in parts[0].series}
    contour = _joined([part.contour for part in parts])
    series["pause_fraction"] = pauses = pause_series(contour)
    return Voice(
        series,
        jitter=reduce(lambda one, later: one.then(later), [part.jitter for part in parts]),
        periods=reduce(lambda one, later: one.then(later), [part.periods for part in parts]),
        bands=Bands(_joined([part.bands.low for part in parts]), _joined([part.bands.high for part in parts])),
        syllables=syllable_nuclei(contour, series["f0_hz"], pauses),
        laughter=laughter([bout for part in parts for bout in part.bouts], pauses),
        range_hz=range_hz,
    )


@dataclass(frozen=True)
class _Part:
    """What one block shows; pauses and syllables need the ``contour`` of all."""

    series: dict[str, Series]
    contour: Series
    jitter: Jitter
    periods: Periods
    bands: Bands
    bouts: list[Bout]


def _measure(block: AudioBlock, settings: FeatureSettings, range_hz: Range) -> _Part:
    sound, core = praat_sound(block.track), block.core
    pitch = track_pitch(sound, range_hz)
    pulses = find_pulses(sound, pitch, core)
    bands = find_bands(block.track)
    series = {
        "f0_hz": pitch_series(pitch),
        "intensity_db": intensity_series(sound, settings.pitch_floor_hz or INTENSITY_FLOOR_HZ),
        "log_energy_db": energy_series(block.track),
        "hnr_db": hnr_series(pitch),
    }
    return _Part(
        {name: one.within(core) for name, one in series.items()},
        contour_series(sound).within(core),
        track_jitter(sound, pulses, settings, range_hz, core),
        find_periods(sound, pulses),
        Bands(bands.low.within(core), bands.high.within(core)),
        [bout for bout in find_bouts(block.track) if bout[0][0] < core[1] and bout[0][1] > core[0]],
    )


def _joined(parts: Sequence[Series]) -> Series:
    """Series of the blocks of one track as one; a cell gives way to the next block's."""
    if len(parts) == 1:
        return parts[0]
    starts = np.concatenate([part.starts_s for part in parts])
    ends = np.concatenate([part.ends_s for part in parts])
    ends[:-1] = np.minimum(ends[:-1], starts[1:])
    return Series(starts, ends, np.concatenate([part.values for part in parts]), parts[0].decibel)
