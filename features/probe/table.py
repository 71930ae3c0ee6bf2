"""What was measured of one media file, as a table for a person."""

from __future__ import annotations

from collections.abc import Sequence

from apportion.features.probe.probe import Figure, Probe

DIGITS = {"Hz": 2, "dB": 2, "fraction": 5, "%": 3, "nods": 0, "shakes": 0}
"""Digits behind the point, by unit; 3 for others."""


def render(probe: Probe) -> str:
    """A line a feature, when there were nods and shakes, and what a reader should know."""
    lines = [
        f"{probe.shown_name}: {probe.holds}, from {probe.start_s:.2f} to {probe.end_s:.2f} s",
        "",
        f"{'feature':<17}{'mean':>10}  {'unit':<13}coverage",
    ]
    observed = [f for f in probe.figures if f.unit != "probability" or probe.emotion_model is not None]
    lines += [f"{f.feature:<17}{_mean(f):>10}  {f.unit:<13}{f.coverage:>7.1%}" for f in observed]
    lines += [f"{feature} at {_times(spans)}" for feature, spans in probe.nods.items() if spans]
    return "\n".join([*lines, "", *(f"note: {note}" for note in probe.notes)])


def _mean(figure: Figure) -> str:
    if figure.mean is None:
        return "-"
    return f"{figure.mean:.{DIGITS.get(figure.unit, 3)}f}"


def _times(spans: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{start_s:.2f} to {end_s:.2f} s" for start_s, end_s in spans)
