"""Words for what takes a share of the time: smiles, looks away, closed eyes, brows and mouth.

Each is told by how much of the time it was there, whatever is usual for the person, so that what never changes is told,
too; and beside it whether that is more or less than usual.
"""

from __future__ import annotations

from dataclasses import dataclass

from apportion.features.settings import DescriptorThresholds
from apportion.features.verbalization.zscore import NormalizedFeature, beside_usual


@dataclass(frozen=True)
class TimeFraction:
    """Words for one feature that is a fraction of the seen time.

    ``levels`` are pairs of a threshold's name and what is added to ``plain`` from there on, the least first;
    ``absent`` says that the words are about the rest of the time (gaze is measured on the screen, told off it).
    """

    feature: str
    plain: str
    levels: tuple[tuple[str, str], ...]
    absent: bool = False


HALF, MOST, THROUGHOUT = "half the time", "most of the time", "throughout"
_ALL = ("throughout_fraction", THROUGHOUT)
_EXPRESSION = (("expression_half_fraction", HALF), ("expression_most_fraction", MOST), _ALL)
SHARES = (
    TimeFraction(
        "gaze_on_screen", "looks away", (("away_half_fraction", HALF), ("away_most_fraction", MOST), _ALL), absent=True
    ),
    TimeFraction(
        "eyes_closed",
        "eyes closed",
        (("eyes_closed_part_fraction", "part of the time"), ("eyes_closed_most_fraction", MOST), _ALL),
    ),
    TimeFraction("smile", "smiles", (("smile_fraction", HALF), ("smile_most_fraction", MOST), _ALL)),
    TimeFraction("frown", "brows lowered", _EXPRESSION),
    TimeFraction("brow_raise", "brows raised", _EXPRESSION),
    TimeFraction("mouth_open", "mouth open", _EXPRESSION),
)

UNTOLD = {"haar": frozenset({"gaze_on_screen"})}
"""What a back-end measures and nobody should be told as a fact: in the moments of docs/features.md ("Real people")
`haar` was never right where it called a gaze away."""
ONLY_RELATIVE = {"yunet": frozenset({"smile"})}
"""Where a back-end is told against usual only: half of the smiles that `yunet` tells in those moments are none."""
AT_LEAST = {"mesh": frozenset({"gaze_on_screen"}), "yunet": frozenset({"gaze_on_screen"})}
"""Where a back-end misses much of what it tells and seldom tells it falsely, so that its share is a lower bound: of 14
moments in which somebody in other films looks away `mesh` calls five so. That it was less than usual is never said."""


def share_phrase(share: TimeFraction, observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    """What is said of one feature, such as ``smiles throughout, as usual``; None where nothing is."""
    mean = observed.mean(share.feature)
    if mean is None or share.feature in UNTOLD.get(observed.detector or "", ()):
        return None
    change = observed.remarkable_change(share.feature, thresholds.fraction_change, thresholds.above_sd)
    if share.absent:
        mean, change = 1.0 - mean, change and -change
    at_least = share.feature in AT_LEAST.get(observed.detector or "", ())
    if at_least and change is not None and change < 0:
        change = None
    level = None
    if share.feature not in ONLY_RELATIVE.get(observed.detector or "", ()):
        level = _level(share, mean, observed.unknown_share(thresholds), thresholds)
    if level is not None:
        level += " or more" if at_least and level == HALF else ""
        return f"{share.plain} {level}{observed.while_seen(share.feature, thresholds)}{beside_usual(change)}"
    return f"{share.plain}{beside_usual(change).lstrip(',')}" if change else None


def _level(share: TimeFraction, mean: float, unknown: float, thresholds: DescriptorThresholds) -> str | None:
    """The highest level that is reached; throughout only where what is not known (`unknown`) counts against it."""
    held = {THROUGHOUT: mean - unknown}
    # A share that is computed as 1 - mean may miss its threshold by a rounding.
    reached = [words for name, words in share.levels if held.get(words, mean) + 1e-9 >= getattr(thresholds, name)]
    return reached[-1] if reached else None
