"""Behaviour as figures, for readers (a model, a program) that want the numbers and not the words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from apportion.features.names import FEATURES, RATES
from apportion.features.verbalization.baseline import Baseline, Measure
from apportion.features.verbalization.phrases import COUNTED

DIGITS = {
    **dict.fromkeys(("f0_hz", "intensity_db", "log_energy_db", "blinks_per_min", *RATES.values()), 1),
    "jitter_local": 4,
}
"""Decimal places by feature; ``OTHER_DIGITS`` for the rest, which are fractions, probabilities and per cent."""
OTHER_DIGITS = 2

SAID_BY = {"log_energy_db": "intensity_db", **{rate: count for count, rate in RATES.items()}}
"""Figures that say again what another one says: they are told only where that one is unknown."""
NOTHING = (*COUNTED, "eyes_closed", "blinks_per_min", "frown", "brow_raise", "mouth_open")
"""Figures that are not told where they are zero: most of the time nothing of the kind happens."""


def in_numbers(
    measures: Mapping[str, Measure], usual: Mapping[str, Baseline], answers: Sequence[int] = ()
) -> str | None:
    """The figures as text, such as ``f0_hz 212.3 (+1.4 sd); nod_yes 2; smile 0.40 (-0.3 sd)``.

    ``measures`` holds only what was observed well enough; a feature without a baseline has no ``sd``. What did not
    happen (``NOTHING``) and what another figure says already are left out. ``answers`` are the turns that a reply
    answers, where they are several: ``answers turns 3, 4; f0_hz ...``. None says that there is nothing to tell.
    """
    parts = []
    for name, mean in _told(measures, list(measures)):
        if name in COUNTED:
            parts.append(f"{name} {mean:.0f}")
            continue
        distance = f" ({_rounded(usual[name].distance(mean), 1):+.1f} sd)" if name in usual else ""
        parts.append(f"{name} {mean:.{DIGITS.get(name, OTHER_DIGITS)}f}{distance}")
    shared = [f"answers turns {', '.join(map(str, answers))}"] if answers else []
    return "; ".join([*shared, *parts]) if parts else None


def in_json(measures: Mapping[str, Measure], usual: Mapping[str, Baseline], answers: Sequence[int] = ()) -> str | None:
    """The figures as one compact JSON object, such as ``{"f0_hz":{"mean":212.3,"sd_from_usual":1.4},"nod_yes":2}``.

    Keys are in the order of ``apportion.features.names``. What was not observed has no key, nor has what ``in_numbers``
    leaves out; what has no baseline has no ``sd_from_usual``; counts are whole numbers. ``answers`` come first, as
    ``"answers_turns":[3,4]``. None where there is nothing to tell.
    """
    figures: dict[str, int | dict[str, float] | list[int]] = {}
    for name, mean in _told(measures, FEATURES):
        if name in COUNTED:
            figures[name] = round(mean)
            continue
        figure = {"mean": _rounded(mean, DIGITS.get(name, OTHER_DIGITS))}
        if name in usual:
            figure["sd_from_usual"] = _rounded(usual[name].distance(mean), 1)
        figures[name] = figure
    shared = {"answers_turns": list(answers)} if answers else {}
    return json.dumps({**shared, **figures}, separators=(",", ":"), allow_nan=False) if figures else None


def _told(measures: Mapping[str, Measure], names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Those of ``names`` that are worth telling, with their means."""
    known = {name: measure.mean for name, measure in measures.items() if measure.mean is not None}
    for name in names:
        if name in known and SAID_BY.get(name) not in known and not _is_nothing(name, known[name]):
            yield name, known[name]


def _is_nothing(name: str, mean: float) -> bool:
    digits = 0 if name in COUNTED else DIGITS.get(name, OTHER_DIGITS)
    return name in NOTHING and round(mean, digits) == 0


def _rounded(value: float, digits: int) -> float:
    return round(value, digits) + 0.0  # -0.0 becomes 0.0
