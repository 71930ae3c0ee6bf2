"""Nods and head shakes of one person, as events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from features.face.nod_no import shakes
from features.face.nod_yes import nods
from features.face.swings import HeadPath
from features.series import Span
from features.settings import FeatureSettings


@dataclass(frozen=True)
class HeadEvents:
    """Nods (``yes``) and shakes (``no``): seconds, in order; each from before its first to after its last crossing."""

    yes: tuple[Span, ...]
    no: tuple[Span, ...]


def head_events(paths: Sequence[HeadPath], settings: FeatureSettings) -> HeadEvents:
    """All nods and shakes in the paths of a person's head."""
    return HeadEvents(nods(paths, settings), shakes(paths, settings))
