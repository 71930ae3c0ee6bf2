"""What the header of a prompt says of its answers: their units, and their scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, cast, get_args

Units = Literal["judgement", "score", "attribution"]
"""Judgements on a scale, shares of the score itself, or whole numbers that tell how much a turn contributed."""

HEADER = ("title", "units", "low", "high")


def units_and_scale(header: Mapping[str, str]) -> tuple[Units, float | None, float | None]:
    """The units, and the ends of the scale, which shares of the score do not have.

    >>> units_and_scale({"units": "attribution", "low": "0", "high": "3"})
    ('attribution', 0.0, 3.0)

    Raises
    ------
    ValueError
        What is wrong with the header, for a person.
    """
    units = header.get("units")
    if units not in get_args(Units):
        raise ValueError(f"units: {units or 'missing'}; allowed are {', '.join(get_args(Units))}")
    return (cast(Units, units), *_scale(cast(Units, units), header))


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
