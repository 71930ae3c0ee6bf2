"""How shaky a voice is by a computation of our own, beside what descriptors say of it by Praat's.

Run: python benchmarks/second_jitter.py FOLDER CLIP ... [--window 1]

A film is cut into the windows of `described_clips.py`: the person of the film speaks in the odd ones. Below 900 Hz each
cycle is as long as the way to where the sound is most like it again, looked for around the pitch that the
autocorrelation gives; local jitter is the mean difference of neighbouring cycles by their mean, those that differ by
1.3 times and more left out, as Praat defines it. Of a planted jitter of 3 % it finds 1.8: cycles overlap. Sound below a
share of the loudest sample counts as silence; which share is right nobody knows, so that three are told. One line a
share and film: jitter of each window in per cent, and its distance from the person's own in standard deviations.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from apportion.features.media_io.audio import read_track
from apportion.features.media_io.channel import Channel
from apportion.features.media_io.media import open_recording
from apportion.foundation.arrays import Floats

SILENCE = (0.03, 0.06, 0.1)
"""Shares of the loudest sample; the first is Praat's own."""
CUT_HZ = 900.0
FRAME_S, STEP_S = 0.04, 0.01
LOWEST_HZ, HIGHEST_HZ = 90, 400
VOICED, ALIKE = 0.5, 0.6
"""Correlation from which on there is a pitch, and from which on a cycle is the one before it again."""
NEAR = 0.2
"""How far the next cycle's length is looked for around the pitch's."""
LARGEST_RATIO = 1.3


def lowpass(samples: Floats, rate_hz: int) -> Floats:
    """``samples`` [K] without what lies above `CUT_HZ`."""
    spectrum = np.fft.rfft(samples)
    spectrum[np.fft.rfftfreq(len(samples), 1 / rate_hz) > CUT_HZ] = 0.0
    kept: Floats = np.fft.irfft(spectrum, len(samples))
    return kept


def period_at(samples: Floats, middle: int, rate_hz: int, quiet: float) -> float | None:
    """Length of a cycle in samples around ``middle``; None where nobody speaks or no pitch is heard."""
    width = int(FRAME_S * rate_hz)
    frame = samples[max(0, middle - width // 2) : middle + width // 2]
    if len(frame) < width // 2 * 2 or np.abs(frame).max() < quiet:
        return None
    window = np.hanning(len(frame))
    own, shape = (np.correlate(x, x, "full")[len(frame) - 1 :] for x in ((frame - frame.mean()) * window, window))
    shares = own / own[0] / (shape / shape[0] + 1e-3)
    lags = np.arange(rate_hz // HIGHEST_HZ, rate_hz // LOWEST_HZ)
    # Of two lags that fit, the shorter: twice a cycle fits as well.
    best = int(lags[np.argmax(shares[lags] - 0.01 * np.log2(lags / lags[0]))])
    return float(best) if shares[best] > VOICED else None


def next_cycle(samples: Floats, begin: int, period: float) -> float | None:
    """Length in samples of the cycle at ``begin``: after so long the sound is most like it; None where it is not."""
    length = int(period)
    cycle = samples[begin : begin + length] - samples[begin : begin + length].mean()
    lags = np.arange(int((1 - NEAR) * period), int((1 + NEAR) * period) + 2)
    if begin + length + lags[-1] >= len(samples):
        return None
    shifted = np.array([samples[begin + lag : begin + lag + length] for lag in lags])
    shifted = shifted - shifted.mean(axis=1, keepdims=True)
    alike = shifted @ cycle / np.sqrt((cycle @ cycle) * (shifted**2).sum(axis=1) + 1e-12)
    best = int(np.argmax(alike))
    if alike[best] < ALIKE:
        return None
    between = 0.0
    if 0 < best < len(lags) - 1:
        left, top, right = alike[best - 1 : best + 2]
        between = 0.5 * (left - right) / (left - 2 * top + right)
    return float(lags[best] + between)


def jitter(samples: Floats, begin: int, end: int, rate_hz: int, quiet: float) -> float:
    """Local jitter of ``samples`` [K] from ``begin`` to ``end``, a fraction; NaN without neighbouring cycles."""
    rows: list[list[float]] = [[]]
    at = float(begin)
    while at < end:
        period = period_at(samples, int(at), rate_hz, quiet)
        cycle = None if period is None else next_cycle(samples, int(at), period)
        rows = rows if cycle is not None or not rows[-1] else [*rows, []]
        rows[-1] += [] if cycle is None else [cycle]
        at += STEP_S * rate_hz if cycle is None else cycle
    steps = [abs(a - b) for row in rows for a, b in pairwise(row) if max(a, b) < LARGEST_RATIO * min(a, b)]
    return float(np.mean(steps) / np.mean([cycle for row in rows for cycle in row])) if steps else float("nan")


def main(folder: Path, clips: Sequence[str], window_s: float) -> None:
    """Print what each film's windows have."""
    for clip in clips:
        with open_recording(folder, clip, tolerance_s=5.0) as recording:
            track = read_track(recording, Channel())
        assert track is not None
        samples = lowpass(track.samples.astype(np.float64), track.rate_hz)
        starts = np.arange(0.0, track.start_s + track.duration_s - window_s / 2, window_s) - track.start_s
        edges = [(int(a * track.rate_hz), int((a + window_s) * track.rate_hz)) for a in starts]
        for share in SILENCE:
            quiet = share * float(np.abs(samples).max())
            found = np.array([jitter(samples, max(0, a), b, track.rate_hz, quiet) for a, b in edges])
            own = found[1::2]
            away = (found - own.mean()) / own.std(ddof=1)
            told = ", ".join(f"{100 * x:.2f} ({d:+.1f})" for x, d in zip(found, away, strict=True))
            print(f"{clip}, silence below {share:g}: {told}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("clips", nargs="+", metavar="CLIP")
    parser.add_argument("--window", type=float, default=1.0, help="seconds of a turn")
    given = parser.parse_args()
    main(given.folder, given.clips, given.window)
