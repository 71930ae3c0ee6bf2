"""Nods: the head goes up and down.

Feature ``nod_yes``. Unit: number of nods whose middle lies in the window; ``nod_yes_per_min`` the
same per minute in which the face was seen.
Source: LLM-GELI section 5.1, "zero crossing threshold >= 2 and scaled face range > 0.1".
"""

from __future__ import annotations

from collections.abc import Sequence

from features.face.swings import HeadPath, swings
from features.series import Span
from features.settings import FeatureSettings


def nods(paths: Sequence[HeadPath], settings: FeatureSettings) -> tuple[Span, ...]:
    """When the head nods, seconds, in order: swings of its height, in face heights."""
    return swings(paths, "y", settings)
