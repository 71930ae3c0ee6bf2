"""Nods and head shakes of one person, as events.

Features ``nod_yes`` (the head goes up and down) and ``nod_no`` (left and right). Unit: number of events whose middle
lies in the window; ``nod_yes_per_min`` and ``nod_no_per_min`` the same per minute in which the face was seen. Source:
LLM-GELI section 5.1, "zero crossing threshold >= 2 and scaled face range > 0.1".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.features.face.head_oscillation import HeadTrajectory, swings
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Span


@dataclass(frozen=True)
class HeadEvents:
    """Nods (``yes``) and shakes (``no``): seconds, in order; each from before its first to after its last crossing."""

    yes: tuple[Span, ...]
    no: tuple[Span, ...]

    @property
    def by_feature(self) -> dict[str, tuple[Span, ...]]:
        """Nods and shakes by the name of their feature."""
        return {"nod_yes": self.yes, "nod_no": self.no}


def head_events(paths: Sequence[HeadTrajectory], settings: FeatureSettings) -> HeadEvents:
    """All nods (swings of the head's height) and shakes (swings to the side) in the paths of a person's head."""
    return HeadEvents(yes=swings(paths, "y", settings), no=swings(paths, "x", settings))
