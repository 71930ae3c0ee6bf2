"""The pictures of a recording at a steady pace, each with its true time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.media import Recording

Grey = NDArray[np.uint8]


@dataclass(frozen=True)
class Picture:
    """One picture: ``grey`` [height, width] uint8, shown at ``time_s`` seconds on the recording's clock."""

    time_s: float
    grey: Grey

    def half(self, half: str | None) -> Grey:
        """The ``left`` or ``right`` half [height, width / 2]; the whole for None."""
        middle = self.grey.shape[1] // 2
        if half is None:
            return self.grey
        return self.grey[:, :middle] if half == "left" else self.grey[:, middle:]


def read_pictures(recording: Recording, stream: Any, rate_hz: float, width_px: int) -> Iterator[Picture]:
    """Decode ``stream`` once and yield the first picture of every interval of ``1 / rate_hz`` seconds.

    Times are the stream's presentation time stamps, never frame number / frame rate: with a variable frame rate,
    or a video that begins after its sound, the latter are wrong by tenths of a second. Pictures wider than
    ``width_px`` are scaled down; a telephone's rotation mark is obeyed. Only one picture is held at a time.
    Raises ``UnitError`` for a damaged file.
    """
    stream.codec_context.thread_count = 1
    next_s = -math.inf
    for frame in recording.frames(stream):
        if frame.time is None:
            continue
        time_s = frame.time - recording.origin_s
        if time_s < next_s:
            continue
        # Pictures whose stamp is a rounding error before the interval belong to it.
        next_s = (math.floor(time_s * rate_hz + 1e-3) + 1) / rate_hz - 1e-3 / rate_hz
        yield Picture(time_s, _grey(frame, width_px))


def _grey(frame: Any, width_px: int) -> Grey:
    turns = round(getattr(frame, "rotation", 0) / 90) % 4
    shown = frame.width if turns % 2 == 0 else frame.height
    scale = min(1.0, width_px / shown)
    width, height = (max(2, round(side * scale / 2) * 2) for side in (frame.width, frame.height))
    grey: Grey = frame.reformat(width=width, height=height, format="gray").to_ndarray()
    return np.ascontiguousarray(np.rot90(grey, turns))
