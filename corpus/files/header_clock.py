"""When a recording begins and ends, by what its header says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TRANSPORT = ("mpegts", "mpeg")
"""Streams whose clock starts anywhere: their first time stamp is their 0."""


@dataclass(frozen=True)
class HeaderClock:
    """Seconds: the container's clock shows ``origin_s`` at presentation time 0, ``start_s`` at its first time stamp.

    ``length_s`` lies between the first time stamp and the end; 0 where the header does not say.
    """

    origin_s: float
    start_s: float
    length_s: float

    @property
    def end_s(self) -> float:
        """Presentation time of the end: the length of a session that begins at presentation time 0."""
        return self.start_s - self.origin_s + self.length_s


def header_clock(container: Any) -> HeaderClock:
    """The clock of a container that PyAV has opened.

    A recording may carry the time of day: its stamps then begin at 50,000 s, or at 86,400 s where the clock ran past
    midnight. Matroska's header counts the length from the clock's 0, the others' from the first time stamp.
    """
    import av

    start_s, stated_s = ((value or 0) / av.time_base for value in (container.start_time, container.duration))
    length_s = max(0.0, stated_s - start_s) if container.format.name.startswith("matroska") else stated_s
    return HeaderClock(start_s if container.format.name in TRANSPORT else 0.0, start_s, length_s)
