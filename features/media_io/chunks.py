"""A track in blocks, so that memory does not grow with its length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from apportion.features.media_io.audio import Track, joined
from apportion.features.time_series import Span

BLOCK_S = 120.0
MARGIN_S = 1.0
"""Sound on both sides of a block that is analysed with it: longer than any of Praat's windows, which need 0.2 s."""
PAD_S = 0.25
WHOLE: Span = (-math.inf, math.inf)

Pieces = Callable[[], Iterator[Track]]
"""Begins a track's sound anew, as pieces that follow one another."""


@dataclass(frozen=True)
class AudioBlock:
    """A stretch of a track; what is measured in it counts within ``core``, seconds on the track's clock."""

    track: Track
    core: Span = WHOLE


def in_one(track: Track) -> AudioBlock:
    """A whole track as one block, its mean taken off as by `Blocks`."""
    mean = np.mean(track.samples, dtype=np.float64) if len(track.samples) else 0.0
    return AudioBlock(replace(track, samples=track.samples - np.float32(mean)))


class Blocks:
    """A track in blocks of two minutes; a shorter one is one block, and none where there is no sound.

    The mean of all its samples is taken off: a direct current that nobody hears, and that would be the energy of every
    pause. They can be gone through again: a short track is decoded once, a longer one anew, and once at the beginning.
    Praat takes for silence what is far below the loudest sample of all that it is given. A block of a longer track
    therefore ends with the loudest sample of the whole, between two stretches of nothing, so that a quiet minute is as
    quiet as it is in the whole track.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._extent = _Extent()
        start: list[Track] = []
        length_s = 0.0
        for piece in pieces():
            length_s += piece.duration_s
            self._extent.take(piece)
            if length_s <= BLOCK_S + MARGIN_S:
                start.append(piece)
        self._short = joined(start) if length_s <= BLOCK_S + MARGIN_S else None

    def __iter__(self) -> Iterator[AudioBlock]:
        if self._short is not None:
            yield in_one(self._short)
            return
        for block in _cut(map(self._centred, self._pieces())):
            yield AudioBlock(_padded(block.track, self._extent.peak), block.core)

    def _centred(self, track: Track) -> Track:
        return replace(track, samples=track.samples - np.float32(self._extent.mean))


def _cut(pieces: Iterator[Track]) -> Iterator[AudioBlock]:
    held: list[Track] = []
    held_s, core_s = 0.0, math.nan
    for piece in pieces:
        if math.isnan(core_s):
            core_s = piece.start_s
        held.append(piece)
        held_s = piece.start_s + piece.duration_s
        while held_s >= core_s + BLOCK_S + MARGIN_S:
            track = joined(held)
            end_s = core_s + BLOCK_S
            yield AudioBlock(_slice(track, core_s - MARGIN_S, end_s + MARGIN_S), (core_s, end_s))
            held, core_s = [_slice(track, end_s - MARGIN_S, math.inf)], end_s
    if held and held_s > core_s:
        track = joined(held)
        yield AudioBlock(track, (core_s, track.start_s + track.duration_s))


def _slice(track: Track, start_s: float, end_s: float) -> Track:
    first = max(0, round((start_s - track.start_s) * track.rate_hz))
    stop = len(track.samples) if math.isinf(end_s) else round((end_s - track.start_s) * track.rate_hz)
    # A copy, so that the rest of the sound can be forgotten.
    return Track(track.samples[first:stop].copy(), track.rate_hz, track.start_s + first / track.rate_hz)


class _Extent:
    """Mean and largest distance from it of all samples, collected piece by piece."""

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0
        self._low, self._high = math.inf, -math.inf

    def take(self, piece: Track) -> None:
        if len(piece.samples):
            self._sum += float(np.sum(piece.samples, dtype=np.float64))
            self._count += len(piece.samples)
            self._low = min(self._low, float(piece.samples.min()))
            self._high = max(self._high, float(piece.samples.max()))

    @property
    def mean(self) -> float:
        return self._sum / self._count if self._count else 0.0

    @property
    def peak(self) -> float:
        return max(self._high - self.mean, self.mean - self._low)


def _padded(track: Track, peak: float) -> Track:
    """The track with the sample at its end that stands as far from the track's mean as ``peak``."""
    samples = track.samples
    nothing = np.zeros(round(PAD_S * track.rate_hz), dtype=np.float32)
    count = len(samples) + 2 * len(nothing) + 1
    loudest = (peak + float(np.sum(samples, dtype=np.float64)) / count) / (1.0 - 1.0 / count)
    padded = np.concatenate([samples, nothing, np.array([loudest], dtype=np.float32), nothing])
    return Track(padded, track.rate_hz, track.start_s)
