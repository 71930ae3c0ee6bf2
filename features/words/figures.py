"""Behaviour as figures, for readers (a model, a program) that want the numbers and not the words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from features.names import FEATURES, RATES
from features.words.baseline import Baseline, Measure
from features.words.phrases import COUNTED

DIGITS = {"f0_hz": 1, "intensity_db": 1, "log_energy_db": 1, "jitter_local": 4, **dict.fromkeys(RATES.values(), 1)}
"""Decimal places by feature; ``OTHER_DIGITS`` for the rest, which are fractions, probabilities and per cent."""
OTHER_DIGITS = 2


def in_numbers(measures: Mapping[str, Measure], usual: Mapping[str, Baseline]) -> str | None:
    """The figures as text, such as ``f0_hz 212.3 (+1.4 sd); nod_yes 2; smile 0.40 (-0.3 sd)``.

    ``measures`` holds only what was observed well enough; a feature without a baseline has no ``sd``, and None says
    that there is nothing to tell.
    """
    parts = []
    for name, measure in measures.items():
        if measure.mean is None:
            continue
        if name in COUNTED:
            parts.append(f"{name} {measure.mean:.0f}")
            continue
        distance = f" ({usual[name].distance(measure.mean):+.1f} sd)" if name in usual else ""
        parts.append(f"{name} {measure.mean:.{DIGITS.get(name, OTHER_DIGITS)}f}{distance}")
    return "; ".join(parts) or None


def in_json(measures: Mapping[str, Measure], usual: Mapping[str, Baseline]) -> str | None:
    """The figures as one compact JSON object, such as ``{"f0_hz":{"mean":212.3,"sd_from_usual":1.4},"nod_yes":2}``.

    Keys are in the order of ``features.names``. What was not observed has no key, what has no baseline no
    ``sd_from_usual``; counts are whole numbers. None where nothing was observed.
    """
    figures: dict[str, int | dict[str, float]] = {}
    for name in FEATURES:
        mean = measures[name].mean if name in measures else None
        if mean is None:
            continue
        if name in COUNTED:
            figures[name] = round(mean)
            continue
        figure = {"mean": _rounded(mean, DIGITS.get(name, OTHER_DIGITS))}
        if name in usual:
            figure["sd_from_usual"] = _rounded(usual[name].distance(mean), 1)
        figures[name] = figure
    return json.dumps(figures, separators=(",", ":"), allow_nan=False) if figures else None


def _rounded(value: float, digits: int) -> float:
    return round(value, digits) + 0.0  # -0.0 becomes 0.0
