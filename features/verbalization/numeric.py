"""Behaviour as figures, for readers (a model, a program) that want the numbers and not the words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from apportion.features.registry import FEATURES, Feature
from apportion.features.verbalization.zscore import Baseline, Measure


def in_numbers(
    measures: Mapping[str, Measure], usual: Mapping[str, Baseline], answers: Sequence[int] = ()
) -> str | None:
    """The figures as text, such as ``f0_hz 212.3 (+1.4 sd); nod_yes 2; eyes_closed 0.40 (-0.3 sd)``.

    ``measures`` holds only what was observed well enough; a feature without a baseline has no ``sd``. What did not
    happen and what another figure says already are left out. ``answers`` are the turns that a reply
    answers, where they are several: ``answers turns 3, 4; f0_hz ...``. None says that there is nothing to tell.
    """
    parts = []
    for name, mean in _told(measures, list(measures)):
        if _is_count(name):
            parts.append(f"{name} {mean:.0f}")
            continue
        distance = f" ({_rounded(usual[name].distance(mean), 1):+.1f} sd)" if name in usual else ""
        parts.append(f"{name} {mean:.{_digits(name)}f}{distance}")
    shared = [f"answers turns {', '.join(map(str, answers))}"] if answers else []
    return "; ".join([*shared, *parts]) if parts else None


def in_json(measures: Mapping[str, Measure], usual: Mapping[str, Baseline], answers: Sequence[int] = ()) -> str | None:
    """The figures as one compact JSON object, such as ``{"f0_hz":{"mean":212.3,"sd_from_usual":1.4},"nod_yes":2}``.

    Keys are in the order of the table of features. What was not observed has no key, nor has what ``in_numbers`` leaves
    out; what has no baseline has no ``sd_from_usual``; counts are whole numbers. ``answers`` come first, as
    ``"answers_turns":[3,4]``. None where there is nothing to tell.
    """
    figures: dict[str, int | dict[str, float] | list[int]] = {}
    for name, mean in _told(measures, list(FEATURES)):
        if _is_count(name):
            figures[name] = round(mean)
            continue
        figure = {"mean": _rounded(mean, _digits(name))}
        if name in usual:
            figure["sd_from_usual"] = _rounded(usual[name].distance(mean), 1)
        figures[name] = figure
    shared = {"answers_turns": list(answers)} if answers else {}
    return json.dumps({**shared, **figures}, separators=(",", ":"), allow_nan=False) if figures else None


def _told(measures: Mapping[str, Measure], names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Those of ``names`` that are worth telling, with their means."""
    known = {name: measure.mean for name, measure in measures.items() if measure.mean is not None}
    for name in names:
        row = FEATURES.get(name)
        if name in known and (row is None or _is_told(row, known)):
            yield name, known[name]


def _is_told(row: Feature, known: Mapping[str, float]) -> bool:
    if row.words is None and row.repeats is None:  # What has no words yet is not trusted yet.
        return False
    return row.repeats not in known and (row.common or round(known[row.name], row.digits) != 0)


def _is_count(name: str) -> bool:
    return name in FEATURES and FEATURES[name].digits == 0


def _digits(name: str) -> int:
    return FEATURES[name].digits if name in FEATURES else 2


def _rounded(value: float, digits: int) -> float:
    return round(value, digits) + 0.0  # -0.0 becomes 0.0
