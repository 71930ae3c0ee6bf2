"""A track in blocks, so that memory does not grow with its length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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


def blocks(pieces: Pieces) -> Iterator[AudioBlock]:
    """Cut a track into blocks of two minutes; a shorter one is one block, and none where there is no sound.

    Praat takes for silence what is far below the loudest sample of all that it is given. A block of a longer track
    therefore ends with the loudest sample of the whole, between two stretches of nothing, so that a quiet minute is as
    quiet as it is in the whole track. To know that sample, a longer track is decoded twice.
    """
    start: list[Track] = []
    length_s = 0.0
    extent = _Extent()
    for piece in pieces():
        length_s += piece.duration_s
        extent.take(piece)
        if length_s <= BLOCK_S + MARGIN_S:
            start.append(piece)
    if length_s <= BLOCK_S + MARGIN_S:
        yield AudioBlock(joined(start))
        return
    start.clear()
    yield from (_padded(block, extent.peak) for block in _cut(pieces()))


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
    def peak(self) -> float:
        mean = self._sum / self._count
        return max(self._high - mean, mean - self._low)


def _padded(block: AudioBlock, peak: float) -> AudioBlock:
    """The block with the sample at its end that stands as far from the block's mean as ``peak``."""
    samples = block.track.samples
    nothing = np.zeros(round(PAD_S * block.track.rate_hz), dtype=np.float32)
    count = len(samples) + 2 * len(nothing) + 1
    loudest = (peak + float(np.sum(samples, dtype=np.float64)) / count) / (1.0 - 1.0 / count)
    padded = np.concatenate([samples, nothing, np.array([loudest], dtype=np.float32), nothing])
    return AudioBlock(Track(padded, block.track.rate_hz, block.track.start_s), block.core)
