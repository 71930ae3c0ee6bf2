"""Everything that is measured in one person's sound, on whole tracks, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from features.audio import Track
from features.energy import energy_series
from features.intensity import intensity_series
from features.jitter import Jitter, track_jitter
from features.pitch import pitch_series, track_pitch
from features.series import Series, Span
from features.settings import FeatureSettings


@dataclass(frozen=True)
class Voice:
    """One person's voice on the session clock: series by feature name, and what tells its jitter."""

    series: dict[str, Series]
    jitter: Jitter

    def measure(self, spans: Sequence[Span], length_s: float) -> dict[str, tuple[float | None, float]]:
        """Mean and coverage of every voice feature over ``spans``, a window of ``length_s`` seconds.

        Jitter has the coverage of pitch: both need a sounding voice.
        """
        found = {name: series.mean(spans, length_s) for name, series in self.series.items()}
        jitter, voiced = self.jitter.over(spans), found["f0_hz"][1]
        return {**found, self.jitter.feature: (jitter, voiced if jitter is not None else 0.0)}


def measure_voice(track: Track, settings: FeatureSettings) -> Voice:
    """Pitch, intensity, log energy and jitter of a track whose clock is the session's.

    Whole tracks are analysed and sliced later: Praat refuses pieces under 0.1 s, and its windows would be cut at
    every utterance's edge.
    """
    import parselmouth

    if not len(track.samples):
        empty = energy_series(track)
        return Voice(
            {"f0_hz": empty, "intensity_db": empty, "log_energy_db": empty}, track_jitter(None, None, settings)
        )
    sound = parselmouth.Sound(track.samples, sampling_frequency=track.rate_hz, start_time=track.start_s)
    pitch = track_pitch(sound, settings.pitch_floor_hz, settings.pitch_ceiling_hz)
    series = {
        "f0_hz": pitch_series(pitch),
        "intensity_db": intensity_series(sound, settings.pitch_floor_hz),
        "log_energy_db": energy_series(track),
    }
    return Voice(series, track_jitter(sound, pitch, settings))
