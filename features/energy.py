"""Log energy: the signal's power relative to full scale."""

from __future__ import annotations

import numpy as np

from features.audio import Track
from features.series import Series

STEP_S = 0.01


def energy_series(track: Track) -> Series:
    """10*log10(mean(x^2)) in dB relative to full scale [F], over steps of 10 ms; NaN for digital silence.

    Source: log energy of LLM-GELI section 5.1 (librosa's RMS). Means over it are energy means, so that the value
    of an utterance is 10*log10(mean(x^2)) of its samples. DisVoice normalises the peak first; we do not, because
    a person's loudness relative to their own other utterances is what the descriptors tell.
    """
    import librosa

    step = max(1, round(STEP_S * track.rate_hz))
    steps = len(track.samples) // step
    if not steps:
        return Series(np.zeros(0), np.zeros(0), np.zeros(0), decibel=True)
    rms = librosa.feature.rms(y=track.samples, frame_length=step, hop_length=step, center=False)[0, :steps]
    power = rms.astype(np.float64) ** 2
    values = np.full(steps, np.nan)
    values[power > 0] = 10.0 * np.log10(power[power > 0])
    starts = track.start_s + np.arange(steps, dtype=np.float64) * (step / track.rate_hz)
    return Series(starts, starts + step / track.rate_hz, values, decibel=True)
