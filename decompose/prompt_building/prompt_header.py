"""What the header of a prompt says of its answers: their units, their scale, and what it means that there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, cast, get_args

Units = Literal["judgement", "score", "attribution"]
"""Judgements on a scale, shares of the score itself, or whole numbers that tell how much a turn contributed."""

Nothing = Literal["mean", "zero", "never"]
"""What null means: nothing can be said, so the turn counts as the mean of its dialogue; zero; or it is a mistake."""

HEADER = ("title", "units", "low", "high", "null")
_USUAL: Mapping[Units, Nothing] = {"judgement": "mean", "score": "zero", "attribution": "never"}


def units_and_scale(header: Mapping[str, str]) -> tuple[Units, float | None, float | None]:
    """The units, and the ends of the scale, which shares of the score do not have.

    >>> units_and_scale({"units": "attribution", "low": "0", "high": "3"})
    ('attribution', 0.0, 3.0)

    Raises ValueError: What is wrong with the header, for a person.
    """
    units = header.get("units")
    if units not in get_args(Units):
        raise ValueError(f"units: {units or 'missing'}; allowed are {', '.join(get_args(Units))}")
    return (cast(Units, units), *_scale(cast(Units, units), header))


def meaning_of_null(header: Mapping[str, str], units: Units) -> Nothing:
    """What null means to this prompt.

    Where the header is silent, the units decide: on a scale of judgements, whose zero may be its worst end, nothing was
    said; a turn without a share of the score has a share of zero; an attribution always has a value.

    >>> meaning_of_null({}, "judgement"), meaning_of_null({"null": "zero"}, "judgement")
    ('mean', 'zero')

    Raises ValueError: What is wrong with the header, for a person.
    """
    null = header.get("null", _USUAL[units])
    if null not in get_args(Nothing):
        raise ValueError(f"null: {null or 'missing'}; allowed are {', '.join(get_args(Nothing))}")
    if units == "attribution" and null != "never":
        raise ValueError(f"null: {null} with units: attribution, which are whole numbers; only never is allowed")
    return cast(Nothing, null)


def _scale(units: Units, header: Mapping[str, str]) -> tuple[float | None, float | None]:
    given = {name: header[name] for name in ("low", "high") if name in header}
    if units == "score":
        if given:
            raise ValueError("low or high with units: score; shares of the score have no bounds")
        return None, None
    try:
        low, high = float(given["low"]), float(given["high"])
    except (KeyError, ValueError):
        raise ValueError(f"units: {units} needs low and high, each a number") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low: {low:g}, high: {high:g}; low must be below high, and both finite")
    if units == "attribution" and (low != 0 or not high.is_integer()):
        raise ValueError(f"low: {low:g}, high: {high:g}; an attribution is a whole number from 0 to high")
    return low, high
