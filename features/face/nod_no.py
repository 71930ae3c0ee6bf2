"""Head shakes: the head goes left and right.

Feature ``nod_no``. Unit: number of shakes whose middle lies in the window; ``nod_no_per_min`` the
same per minute in which the face was seen.
Source: LLM-GELI section 5.1, "zero crossing threshold >= 2 and scaled face range > 0.1".
"""

from __future__ import annotations

from collections.abc import Sequence

from features.face.swings import HeadPath, swings
from features.series import Span
from features.settings import FeatureSettings


def shakes(paths: Sequence[HeadPath], settings: FeatureSettings) -> tuple[Span, ...]:
    """When the head shakes, seconds, in order: swings to the side, in face heights."""
    return swings(paths, "x", settings)
