"""One channel of a recording's sound, on the recording's own clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.features.media_io.channel import Channel
from apportion.features.media_io.media import Recording
from apportion.foundation.errors import UnitError

GAP_S = 0.02
"""Time stamps that jump by less than this are rounding of the container, not missing sound."""
LONGEST_GAP_S = 3600.0


@dataclass(frozen=True)
class Track:
    """Mono sound. ``samples`` [K] float32 in -1 to 1; sample k plays at ``start_s + k / rate_hz`` seconds."""

    samples: NDArray[np.float32]
    rate_hz: int
    start_s: float

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate_hz


def joined(pieces: Sequence[Track]) -> Track:
    """Pieces that follow one another as one track; an empty one of none."""
    if not pieces:
        return Track(np.zeros(0, dtype=np.float32), 1, 0.0)
    return Track(np.concatenate([piece.samples for piece in pieces]), pieces[0].rate_hz, pieces[0].start_s)


def read_pieces(recording: Recording, channel: Channel) -> Iterator[Track] | None:
    """Decode the channel's sound track at its native rate, piece by piece; None where the file does not have it.

    Where time stamps leave a gap, the gap is filled with silence, and where they overlap, what has no room is dropped,
    so that later sound stays at its own time.
    Raises ``UnitError`` for a channel that the file does not have, samples that are no numbers, an impossible jump
    of the time stamps, a change of the format on the way, and a damaged file.
    """
    stream = recording.sound(channel.track)
    return None if stream is None else _decoded(recording, stream, channel)


def _decoded(recording: Recording, stream: Any, channel: Channel) -> Iterator[Track]:
    import av

    to_float = av.AudioResampler(format="fltp")
    rate_hz, channels, start_s, length = 0, 0, 0.0, 0
    for frame in recording.frames(stream):
        if not channels:
            # The decoded frame, not the header: HE-AAC headers give half the rate.
            rate_hz, channels = frame.sample_rate, frame.layout.nb_channels
            _check_channel(recording.path, channel, channels)
            start_s = (frame.time or 0.0) - recording.origin_s
        elif (frame.sample_rate, frame.layout.nb_channels) != (rate_hz, channels):
            raise UnitError(
                f"{recording.path}: the sound changes on the way from {rate_hz} Hz and {channels} channels to "
                f"{frame.sample_rate} Hz and {frame.layout.nb_channels}. Convert the recording to one format."
            )
        gap = 0 if frame.time is None else round((frame.time - recording.origin_s - start_s) * rate_hz) - length
        parts = _silence(gap, rate_hz, recording.path) if gap > GAP_S * rate_hz else iter(())
        # A sound card that runs fast gives more samples than its clock has room for; without this all that follows
        # would be late, more and more.
        too_many = -gap if gap < -GAP_S * rate_hz else 0
        for samples in chain(parts, (_mono(part, channel) for part in to_float.resample(frame))):
            dropped = min(too_many, len(samples))
            too_many, kept = too_many - dropped, samples[dropped:]
            if len(kept):
                _check_numbers(kept, recording.path, start_s + length / rate_hz)
                yield Track(kept, rate_hz, start_s + length / rate_hz)
                length += len(kept)


def _check_numbers(samples: NDArray[np.float32], path: str, start_s: float) -> None:
    if not np.isfinite(samples).all():
        raise UnitError(
            f"{path}: {int((~np.isfinite(samples)).sum())} of {len(samples)} audio samples are not numbers, "
            f"{start_s:.2f} s from its start. Export the recording again."
        )


def _check_channel(path: str, channel: Channel, channels: int) -> None:
    if channel.audio is not None and channel.audio >= channels:
        raise UnitError(
            f"{path}: channel {channel.audio} was asked for and the file has {channels} audio channel"
            f"{'s' if channels != 1 else ''} (allowed: 0 to {channels - 1}; L is 0, R is 1). Correct the media table."
        )


def _mono(frame: Any, channel: Channel) -> NDArray[np.float32]:
    planes: NDArray[np.float32] = frame.to_ndarray()  # [channels, K]
    if channel.turned:
        opposed: NDArray[np.float32] = (planes[0] - planes[1]) / 2
        return opposed
    mono: NDArray[np.float32] = planes.mean(axis=0) if channel.audio is None else planes[channel.audio]
    return mono


def _silence(samples: int, rate_hz: int, path: str) -> Iterator[NDArray[np.float32]]:
    if samples > LONGEST_GAP_S * rate_hz:
        raise UnitError(
            f"{path}: the sound's time stamps jump by {samples / rate_hz:,.0f} s (allowed: {LONGEST_GAP_S:,.0f} s). "
            "Convert the recording, for example to mp4, so that its clock is continuous."
        )
    return (np.zeros(min(rate_hz, samples - first), dtype=np.float32) for first in range(0, samples, rate_hz))
