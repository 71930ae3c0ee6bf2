"""A session's recordings: where they lie, and how loud they are over time."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from apportion.corpus.session import Media
from apportion.features.media_io.audio import read_pieces
from apportion.features.media_io.channel import Channel, heard_channel, parse_channel
from apportion.features.media_io.media import locate, open_recording
from apportion.foundation.arrays import Floats

TYPES = {
    ".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/mp4", ".webm": "video/webm", ".mkv": "video/x-matroska",
    ".ogv": "video/ogg", ".avi": "video/x-msvideo", ".mpg": "video/mpeg", ".mpeg": "video/mpeg", ".wav": "audio/wav",
    ".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".aac": "audio/aac", ".ogg": "audio/ogg", ".oga": "audio/ogg",
    ".opus": "audio/ogg", ".flac": "audio/flac", ".weba": "audio/webm",
}  # fmt: skip
"""What a browser is told that a file is; of any other it is told nothing that it would open as a page."""
UNKNOWN = "application/octet-stream"
PEAKS_HZ, MOST_PEAKS = 20, 16_000
KEPT = 32


def content_type(path: Path) -> str:
    """What a browser is told that the file is."""
    return TYPES.get(path.suffix.lower(), UNKNOWN)


@dataclass(frozen=True)
class Peaks:
    """The loudest sample of each of N stretches of equal length, 0 to 1; ``length_s`` is that of the sound."""

    values: tuple[float, ...]
    length_s: float


@dataclass
class PeakReader:
    """Reads recordings one at a time and remembers what it has read; a sound is decoded in pieces, never held whole."""

    _kept: OrderedDict[tuple[str, int, int, str | None], Peaks | None] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def peaks(self, corpus: Path, media: Media) -> Peaks | None:
        """The peaks of a recording, None where it has no sound. Raises UnitError: it cannot be found, opened or
        decoded.
        """
        path = locate(corpus, media.path)
        status = path.stat()
        key = (str(path), status.st_size, status.st_mtime_ns, media.channel)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = read_peaks(corpus, media)
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


PEAKS = PeakReader()


def read_peaks(corpus: Path, media: Media) -> Peaks | None:
    """Decode a recording's sound into `Peaks`; see `PeakReader.peaks`."""
    channel = parse_channel(media)
    if media.kind == "video":
        channel = Channel(track=channel.track)
    # A recording that is cut short is shown as far as it goes.
    with open_recording(corpus, media.path, np.inf) as recording:
        channel, _ = heard_channel(recording, channel)
        pieces = read_pieces(recording, channel)
        if pieces is None:
            return None
        found: dict[int, float] = {}
        length_s = 0.0
        for piece in pieces:
            at = ((piece.start_s + np.arange(len(piece.samples)) / piece.rate_hz) * PEAKS_HZ).astype(np.int64)
            starts = np.flatnonzero(np.diff(at, prepend=at[0] - 1))
            loudest = np.maximum.reduceat(np.abs(piece.samples), starts)
            for place, peak in zip(at[starts].tolist(), loudest.tolist(), strict=True):
                found[place] = max(found.get(place, 0.0), peak)
            length_s = max(length_s, piece.start_s + piece.duration_s)
    values = np.zeros(max(found, default=-1) + 1)
    for place, peak in found.items():
        if place >= 0:
            values[place] = min(1.0, peak)
    return Peaks(tuple(round(float(value), 3) for value in _thinned(values)), length_s)


def sound_of(corpus: Path, media: Media) -> str:
    """The peaks of a recording as JSON, empty where it has no sound; raises as `PeakReader.peaks` does."""
    peaks = PEAKS.peaks(corpus, media)
    return "" if peaks is None else json.dumps({"length_s": peaks.length_s, "peaks": peaks.values})


def _thinned(values: Floats) -> Floats:
    """Neighbours joined until there are few enough."""
    times = -(-len(values) // MOST_PEAKS)
    if times <= 1:
        return values
    padded = np.pad(values, (0, -len(values) % times))
    loudest: Floats = padded.reshape(-1, times).max(axis=1)
    return loudest
