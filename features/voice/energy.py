"""Log energy: the signal's power relative to full scale."""

from __future__ import annotations

import numpy as np

from apportion.features.media_io.audio import Track
from apportion.features.time_series import Series

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
