"""The pictures of a recording at a steady pace, each with its true time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.corpus.files.picture_size import DECODER_OPTIONS
from apportion.features.media_io.media import Recording
from apportion.features.media_io.orientation import PLAIN, Orientation, orientation, pixel_aspect
from apportion.features.sampling_clock import Clock, interval

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
        tick = packet.time_base
        # As a division of whole numbers: fractions are slow, and every packet comes by.
        number = interval(packet.pts * tick.numerator / tick.denominator - self._origin_s, self._rate_hz)
        first = self._firsts.setdefault(number, packet.pts)
        if len(self._firsts) > REMEMBERED:
            del self._firsts[next(iter(self._firsts))]
        self._firsts[number] = min(first, packet.pts)
        return bool(packet.pts > first)


Grey = NDArray[np.uint8]
Colours = NDArray[np.uint8]
"""RGB [height, width, 3] uint8."""
LUMA_FIRST = ("yuv", "yuvj", "nv1", "nv2", "gray")
"""Formats (8 bits a sample) whose first plane is the brightness: it is used where it lies, without a copy."""


@dataclass(frozen=True)
class Picture:
    """One picture or half of one: ``luma`` [height, width] uint8, shown at ``time_s`` seconds on the recording's clock.

    ``luma`` is the video's own brightness, 16 to 235 or 0 to 255, at full size; it may be a view into the decoder's
    memory. ``frame`` is PyAV's, from which the colours come when somebody asks for them. ``recording`` is whose it is.
    """

    time_s: float
    luma: Grey
    frame: Any = None
    part: str | None = None
    orientation: Orientation = PLAIN
    recording: Recording | None = None

    def half(self, part: str | None) -> Picture:
        """The ``left`` or ``right`` half; the whole for None."""
        return self if part is None else replace(self, luma=_part(self.luma, part), part=part)

    def colours(self) -> Colours:
        """RGB [height, width, 3] uint8 of the same part of the picture."""
        # One thread: swscale's default starts one a core for every picture, which costs ten times the conversion.
        rgb = self.frame.reformat(format="rgb24", threads=1).to_ndarray()
        return _part(self.orientation.shown(rgb), self.part)


def read_pictures(recording: Recording, stream: Any, rate_hz: float, thrifty: bool = True) -> Iterator[Picture]:
    """Decode ``stream`` once and yield the first picture of every interval of ``1 / rate_hz`` seconds.

    Times are the stream's presentation time stamps, never frame number / frame rate: with a variable frame rate,
    or a video that begins after its sound, the latter are wrong by tenths of a second. A telephone's turn and
    mirror, and pixels that are not square, are obeyed as players do. ``thrifty`` leaves out the decoder's deblocking
    filter, and pictures that are neither yielded nor needed for others (`FrameSkipper`).

    Raises ``UnitError`` for a damaged file.
    """
    stream.codec_context.thread_count = 1
    if thrifty:
        stream.codec_context.options = {**DECODER_OPTIONS, "skip_loop_filter": "all"}
    spared = FrameSkipper(rate_hz, recording.origin_s) if thrifty and can_spare(recording, stream) else None
    clock = Clock(rate_hz)
    aspect = pixel_aspect(stream)
    for frame in recording.frames(stream, spared):
        if spared is not None and frame.interlaced_frame:
            spared.stop()
        if frame.time is not None and clock.ticks(time_s := frame.time - recording.origin_s):
            laid_out = orientation(frame, aspect)
            yield Picture(time_s, laid_out.shown(_luma(frame)), frame, orientation=laid_out, recording=recording)


def _luma(frame: Any) -> Grey:
    known = frame.format.name.startswith(LUMA_FIRST) and frame.format.components[0].bits == 8
    if not known:
        frame = frame.reformat(format="gray", threads=1)
    plane = frame.planes[0]
    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    luma: Grey = rows[: frame.height, : frame.width]
    return luma


def _part(picture: NDArray[np.uint8], part: str | None) -> NDArray[np.uint8]:
    middle = picture.shape[1] // 2
    if part is None:
        return picture
    return picture[:, :middle] if part == "left" else picture[:, middle:]
