"""The seven dimensions of SOTOPIA-EVAL and their ranges (SOTOPIA, section 3), for importers and judges alike."""

from __future__ import annotations

RANGES: dict[str, tuple[float, float]] = {
    "GOAL": (0.0, 10.0),
    "BEL": (0.0, 10.0),
    "KNO": (0.0, 10.0),
    "SEC": (-10.0, 0.0),
    "REL": (-5.0, 5.0),
    "SOC": (-10.0, 0.0),
    "FIN": (-5.0, 5.0),
}
"""By dimension the lowest and the highest score."""
RELEASED_NAMES = {
    "goal": "GOAL",
    "believability": "BEL",
    "knowledge": "KNO",
    "secret": "SEC",
    "relationship": "REL",
    "social_rules": "SOC",
    "financial_and_material_benefits": "FIN",
}
"""What the released code calls them."""
OVERALL = "overall"
OVERALL_RANGE = (sum(low for low, _ in RANGES.values()) / 7, sum(high for _, high in RANGES.values()) / 7)
"""The overall score is the mean of the seven (section 6)."""
