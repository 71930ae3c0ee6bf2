"""What each of the eight emotion features is: its name, signs and the words for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """Phrases for one emotion: seen for itself, and more or less of it than usual."""

    plain: str
    more: str
    less: str


@dataclass(frozen=True)
class Emotion:
    """One of AffectNet's eight categories, as a network sees it in a picture of a face.

    ``feature`` is the name in ``utterance_features``; ``signs`` what tells it in a face; ``look`` is None where it is
    never told in words. The unit of all eight is a probability, 0 to 1, together 1. They say what a face looks like to
    people who labelled pictures from the web, not what its owner feels.
    """

    feature: str
    signs: str
    look: Look | None
