"""Laughter in a voice: a sound that comes again and again, as in "ha ha ha".

A bout of laughter is a row of short bursts, some 4.4 a second, that are much alike (Bachorowski, Smoski, Owren, 2001,
"The acoustic features of human laughter", JASA 110), where one syllable of speech differs from the next. What is short,
breathed or no row of bursts is not found; music that repeats a note is (docs/evidence/features.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from apportion.features.media_io.audio import Track
from apportion.features.time_series import Series, Span
from apportion.foundation.arrays import Floats

APART_S = (0.1, 0.38)
"""From one burst to the next."""
FEWEST = 4
"""Bursts of a bout."""
RHYTHM = 1.5
"""Most by which a way from burst to burst is longer or shorter than the median of those before."""
STANDS_OUT_DB, QUIET_DB = 5.0, 35.0
"""Least of a burst over the dips beside it, and most below the loud ones (99th percentile)."""
ALIKE = 0.7
"""Least mean correlation of a burst's spectrogram with the next one's: of 2.5 hours of speech none reaches 0.67."""
VOICED = 0.5
"""Least share of bursts with a voice in them, of 75 to 1,000 Hz: laughter is pitched up to an octave above speech."""
PITCH_HZ = (75.0, 1000.0)
RATE_HZ, HOP, WINDOW, FFT, MELS = 16000, 160, 400, 512, 40
MEL_HZ = (80.0, 7600.0)
SMOOTH = 5
RANGE_DB = 45.0
"""Of a bout, what is further below its loudest cell counts as nothing."""
SHIFT = 2
"""Steps by which two bursts may be laid upon one another otherwise than by their peaks."""

Bout = tuple[Span, Floats]
"""A bout's start and end, and the times of its bursts [B], seconds."""


def find_bouts(track: Track) -> list[Bout]:
    """Every bout of laughter in a stretch of sound, on its clock, in order."""
    import librosa

    if track.duration_s < FEWEST * APART_S[0]:
        return []
    sound = librosa.resample(track.samples, orig_sr=track.rate_hz, target_sr=RATE_HZ)
    low_hz, high_hz = MEL_HZ
    mel = librosa.feature.melspectrogram(
        y=sound, sr=RATE_HZ, n_fft=FFT, hop_length=HOP, win_length=WINDOW, n_mels=MELS, fmin=low_hz, fmax=high_hz
    )
    levels = _decibels(mel.astype(np.float64))
    step_s = HOP / RATE_HZ
    found = []
    for row in _rows(_decibels(mel.sum(axis=0, dtype=np.float64))):
        half = max(SMOOTH, int(np.median(np.diff(row))) // 2)
        if _likeness(levels, row, half) >= ALIKE and _voiced(sound, np.array(row) * step_s) >= VOICED:
            ends_s = np.clip(np.array([row[0] - half, row[-1] + half]) * step_s, 0.0, track.duration_s)
            first_s, last_s = (track.start_s + ends_s).tolist()
            found.append(((first_s, last_s), track.start_s + np.array(row) * step_s))
    return found


def laughter(bouts: Sequence[Bout], pauses: Series) -> tuple[Span, ...]:
    """The bouts of one person, joined where they meet; none of which half is no louder than what others leave in the
    person's microphone. ``pauses``: of the whole track (`speech_rate.pause_series`)."""
    spans: list[Span] = []
    for span, bursts_s in sorted(bouts, key=lambda bout: bout[0]):
        sounding = np.mean([(pauses.mean([(at_s, at_s + HOP / RATE_HZ)], 1.0)[0] or 0.0) < 0.5 for at_s in bursts_s])
        if sounding <= 0.5:
            continue
        if spans and span[0] <= spans[-1][1]:
            span = (spans.pop()[0], span[1])
        spans.append(span)
    return tuple(spans)


def _decibels(power: Floats) -> Floats:
    decibels: Floats = 10.0 * np.log10(power + 1e-9)
    return decibels


def _rows(loudness: Floats) -> Iterator[list[int]]:
    """Frames of bursts that follow one another in an even rhythm."""
    from scipy.signal import find_peaks

    weights = np.hanning(SMOOTH) / np.hanning(SMOOTH).sum()
    smooth = np.convolve(np.pad(loudness, SMOOTH // 2, mode="edge"), weights, "valid")
    peaks = find_peaks(smooth, prominence=STANDS_OUT_DB)[0]
    row: list[int] = []
    for peak in peaks[smooth[peaks] > np.quantile(smooth, 0.99) - QUIET_DB].tolist():
        near = bool(row) and APART_S[0] <= (peak - row[-1]) * HOP / RATE_HZ <= APART_S[1]
        usual = np.median(np.diff(row)) if len(row) > 1 else None
        if row and not (near and (usual is None or 1 / RHYTHM <= (peak - row[-1]) / usual <= RHYTHM)):
            if len(row) >= FEWEST:
                yield row
            row = row[-1:] if near else []
        row.append(peak)
    if len(row) >= FEWEST:
        yield row


def _likeness(levels: Floats, row: Sequence[int], half: int) -> float:
    """Mean correlation of each burst with the next, ``half`` frames about its peak, each band less its mean.

    A burst that the recording cuts off is left out.
    """
    first = max(0, row[0] - half)
    bout = levels[:, first : row[-1] + half + 1]
    bout = np.maximum(bout, bout.max() - RANGE_DB)
    bout = bout - bout.mean(axis=1, keepdims=True)

    def around(frame: int) -> Floats | None:
        start, stop = frame - first - half, frame - first + half + 1
        return bout[:, start:stop].ravel() if start >= 0 and stop <= bout.shape[1] else None

    best = []
    for one, after in pairwise(row):
        pairs = ((around(one), around(after + shift)) for shift in range(-SHIFT, SHIFT + 1))
        likeness = [_cosine(a, b) for a, b in pairs if a is not None and b is not None]
        best.extend([max(likeness)] if likeness else [])
    return float(np.mean(best)) if best else -1.0


def _cosine(one: Floats, other: Floats) -> float:
    return float(one @ other / np.sqrt((one @ one) * (other @ other) + 1e-9))


def _voiced(sound: Floats, bursts_s: Floats) -> float:
    """The share of bursts near whose peaks (0.03 s) a voice is heard."""
    import parselmouth

    begin = max(0, int((bursts_s[0] - 0.2) * RATE_HZ))
    piece = parselmouth.Sound(sound[begin : int((bursts_s[-1] + 0.2) * RATE_HZ)].astype(np.float64), RATE_HZ)
    pitch = piece.to_pitch_ac(0.01, PITCH_HZ[0], voicing_threshold=0.35, pitch_ceiling=PITCH_HZ[1])
    heard = pitch.xs()[pitch.selected_array["frequency"] > 0] + begin / RATE_HZ
    return float(np.mean([np.abs(heard - at).min(initial=np.inf) <= 0.03 for at in bursts_s]))
