"""Whether times without a unit are seconds or milliseconds: told, or seen by how long a word takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Literal

from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import shortened

TimeUnit = Literal["s", "ms"]
SECONDS: TimeUnit = "s"
MILLISECONDS: TimeUnit = "ms"
LATEST_S = 1e6
"""Sessions begin at 0; twelve days later it is the time of day that somebody wrote down."""
SLOWEST_S, FASTEST_S = 40.0, 0.01
"""Seconds that a word takes in a transcript: between 0.2 and 1, with pauses up to 10. A thousandfold is neither."""
LETTERS = 4
"""A word has so many, where no blanks divide them."""


def time_unit_option(kind: str, options: Mapping[str, str]) -> TimeUnit | None:
    """The option ``time_unit``, None where it is not given."""
    given = options.get("time_unit")
    for unit in (SECONDS, MILLISECONDS):
        if given == unit:
            return unit
    if given is None:
        return None
    raise InputError(f"import {kind}: option time_unit={given}: s or ms is needed, for example -o time_unit=ms.")


def check_pace(name: str, spans: Iterable[tuple[str, float, float]], unit: TimeUnit | None) -> None:
    """Refuse times that nobody speaks at.

    ``spans``: (text, start, end) of each cue, in seconds if ``unit`` is right.

    Raises ``UnitError``: nobody said that they are seconds, and they are thousandfold, much too fast, or count from
    another day; or they were said to be
    milliseconds, and are a thousandth, or thousandfold as well (microseconds).
    """
    said = [(start, end, text) for text, start, end in spans if text.strip()]
    timed = [(end - start, text) for start, end, text in said if end > start]
    if not timed and len(said) > 1:  # Starts alone are known: all words are said from the first to the last.
        timed = [(max(said)[0] - min(said)[0], " ".join(text for _, _, text in said))]
    if not timed:
        return
    pace = median(length / _words(text) for length, text in timed)
    length, text = max(timed)
    lasts = f"{name}: {shortened(text, 40)!r} lasts {length:,.10g} s, if its times are"
    if unit is None and pace > SLOWEST_S:
        raise UnitError(f"{lasts} seconds. Say what they are: -o time_unit=ms, or -o time_unit=s if it is so.")
    begins = min(start for start, _, _ in said)
    if unit is None and begins > LATEST_S:
        raise UnitError(
            f"{name}: the first words begin at {begins:,.10g} s, as if on a calendar. Count from the beginning of the "
            "session, or say -o time_unit=s if it is so."
        )
    if unit is None and pace < FASTEST_S:
        raise UnitError(
            f"{lasts} seconds, and nobody speaks so fast. Write seconds, or say -o time_unit=s if it is so."
        )
    if unit == MILLISECONDS and pace > SLOWEST_S:
        raise UnitError(f"{lasts} milliseconds. Divide them, so that they are seconds or milliseconds.")
    if unit == MILLISECONDS and pace < FASTEST_S:
        raise UnitError(f"{lasts} milliseconds. Say -o time_unit=s, and import it apart from those in milliseconds.")


def _words(text: str) -> float:
    return max(len(text.split()), len("".join(text.split())) / LETTERS)
