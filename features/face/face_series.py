"""What one person's face showed over a recording."""

from __future__ import annotations

from dataclasses import dataclass

from apportion.features.time_series import Series, Span


@dataclass(frozen=True)
class FaceSeries:
    """Decisions by feature (``series``), ``traces`` that are only stored, and ``blinks``, seconds, in order.

    ``series`` holds ``smile`` and ``gaze_on_screen``, and ``eyes_closed`` where the back-end tells the lids; blinks
    count a minute of the time for which that is known.
    """

    series: dict[str, Series]
    traces: dict[str, Series]
    blinks: tuple[Span, ...] = ()
