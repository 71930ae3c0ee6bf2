"""What one person's face showed over a recording."""

from __future__ import annotations

from dataclasses import dataclass

from apportion.features.time_series import Series, Span


@dataclass(frozen=True)
class FaceSeries:
    """Decisions by feature (``series``), ``traces`` that are only stored, and ``blinks``, seconds, in order.

    ``series`` holds what the back-end tells; blinks count a minute of the time for which ``eyes_closed`` is known.
    """

    series: dict[str, Series]
    traces: dict[str, Series]
    blinks: tuple[Span, ...] = ()
