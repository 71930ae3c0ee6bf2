"""Pictures that need not be decoded, because nobody looks at them."""

from __future__ import annotations

from typing import Any

from apportion.features.media_io.media import Recording
from apportion.features.sampling_clock import interval

CONTAINERS = ("mov", "matroska")
"""A packet of theirs is a whole picture; elsewhere it can be one field of two, and half a picture would be left."""
CODECS = ("h264",)
"""Their bitstream says of every picture whether others are drawn from it. HEVC says so of a sub-layer only."""
REMEMBERED = 64
"""Intervals whose first picture is known: pictures come out of order, but not by so much."""


def can_spare(recording: Recording, stream: Any) -> bool:
    """Whether pictures of ``stream`` can be left out without a change to others."""
    container = recording.container.format.name.split(",")[0]
    return container in CONTAINERS and stream.codec_context.name in CODECS


class FrameSkipper:
    """Tells of packets whether their picture follows another in the same interval of ``1 / rate_hz`` seconds.

    Packets come in the decoder's order. A picture whose predecessor comes later is not spared, so that what is left
    holds the first of every interval. Times are the presentation's less ``origin_s``, as `read_pictures` tells them.
    Of a damaged film it may spare what would have stood in for a first picture that does not decode.
    """

    def __init__(self, rate_hz: float, origin_s: float) -> None:
        self._rate_hz = rate_hz
        self._origin_s = origin_s
        self._firsts: dict[int, int] = {}
        """Of each interval the earliest stamp that was seen."""
        self._stopped = False

    def stop(self) -> None:
        """Spare no more: the film is interlaced, and whoever copied it may have left each field a packet of its own."""
        self._stopped = True

    def __call__(self, packet: Any) -> bool:
        """Whether nobody will look at the picture of ``packet``."""
        # What an edit list cuts away is decoded and not shown: it is nobody's predecessor.
        if self._stopped or packet.pts is None or packet.is_discard:
            return False
        number = interval(float(packet.pts * packet.time_base) - self._origin_s, self._rate_hz)
        first = self._firsts.setdefault(number, packet.pts)
        if len(self._firsts) > REMEMBERED:
            del self._firsts[next(iter(self._firsts))]
        self._firsts[number] = min(first, packet.pts)
        return bool(packet.pts > first)
