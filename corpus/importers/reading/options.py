"""The KEY=VALUE options of an importer."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError

MOST = 10**9
"""The largest number of anything that an option may ask for."""


def check_options(kind: str, options: Mapping[str, str], allowed: Collection[str]) -> None:
    """Refuse an option that the importer ``kind`` does not know, with the nearest that it does."""
    for key in options:
        if key not in allowed:
            hint = did_you_mean(key, allowed, "leave it out.")
            known = ", ".join(allowed) or "none"
            raise InputError(f"import {kind}: unknown option {key!r}; {hint} Allowed: {known}.")


def number_option(kind: str, options: Mapping[str, str], key: str) -> float | None:
    """The option as a finite number, None where it is not given."""
    if key not in options:
        return None
    try:
        value = float(options[key])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"import {kind}: option {key}={options[key]}: a number is needed, for example -o {key}=1.")
    return value


def count_option(kind: str, options: Mapping[str, str], key: str) -> int | None:
    """The option as a whole number from 1, None where it is not given."""
    value = number_option(kind, options, key)
    if value is not None and not (value.is_integer() and 1 <= value <= MOST):
        raise InputError(
            f"import {kind}: option {key}={options[key]}: a whole number from 1 to {MOST} is needed, "
            f"for example -o {key}=100."
        )
    return None if value is None else int(value)


def scale_options(kind: str, options: Mapping[str, str]) -> tuple[float, float] | None:
    """The scale (low, high) of the options ``low`` and ``high``, None where neither is given."""
    low, high = number_option(kind, options, "low"), number_option(kind, options, "high")
    if low is None and high is None:
        return None
    if low is None or high is None:
        missing = "low" if low is None else "high"
        raise InputError(f"import {kind}: option {missing} is missing: give both ends, -o low=1 -o high=5.")
    if low >= high:
        raise InputError(f"import {kind}: low={low:g} is not below high={high:g}. Give the ends of the scale in order.")
    return low, high
