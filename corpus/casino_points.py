"""CaSiNo's game in figures: what is divided, and what it is worth; for the importer, and for whoever plays it.

Source: Chawla et al. 2021, section 3 (two campsite neighbours divide three packages each of food, water and firewood).
"""

from __future__ import annotations

from collections.abc import Mapping

ISSUES = ("Food", "Water", "Firewood")
PACKAGES = 3
"""Of each issue."""
WORTH: Mapping[str, int] = {"High": 5, "Medium": 4, "Low": 3}
"""Points of one package of what somebody wants most, less, and least."""
WALKED_AWAY = 5
"""Points of each of the two when somebody walks away."""
MOST = PACKAGES * sum(WORTH.values())
"""Points of whoever gets everything: 36."""
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "satisfaction": (
        "Extremely dissatisfied", "Slightly dissatisfied", "Undecided", "Slightly satisfied", "Extremely satisfied",
    ),
    "opponent_likeness": ("Extremely dislike", "Slightly dislike", "Undecided", "Slightly like", "Extremely like"),
}  # fmt: skip
"""By rating, what each could answer afterwards, as 1 to 5."""


def points(values: Mapping[str, int], taken: Mapping[str, int]) -> int:
    """What somebody's packages are worth to them; both mappings are by issue.

    >>> points({"Food": 5, "Water": 4, "Firewood": 3}, {"Food": 0, "Water": 3, "Firewood": 1})
    15
    """
    return sum(values[issue] * taken[issue] for issue in ISSUES)
