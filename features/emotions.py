"""The eight emotion features: AffectNet's categories, what tells each in a face, and the words for it.

Unit of all eight: probability, 0 to 1; together 1. Source: LLM-GELI section 5.1; AffectNet (Mollahosseini, Hasani and
Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978. They say what a face looks like to people
who annotated pictures from the web, not what its owner feels.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExpressionPhrase:
    """Phrases for one emotion: seen for itself, and more or less of it than usual."""

    plain: str
    more: str
    less: str


@dataclass(frozen=True)
class Emotion:
    """One of AffectNet's eight categories, as a network sees it in a picture of a face.

    ``feature`` is the name in ``utterance_features``; ``signs`` what tells it in a face, in one line.
    """

    feature: str
    signs: str
    look: ExpressionPhrase


EMOTIONS = (
    Emotion(
        "anger",
        "brows drawn together, hard eyes, lips pressed or teeth shown",
        ExpressionPhrase("looks angry", "looks angrier than usual", "looks less angry than usual"),
    ),
    Emotion(
        "contempt",
        "one corner of the mouth tightened or raised",
        ExpressionPhrase(
            "looks contemptuous", "looks more contemptuous than usual", "looks less contemptuous than usual"
        ),
    ),
    Emotion(
        "disgust",
        "wrinkled nose, raised upper lip",
        ExpressionPhrase("looks disgusted", "looks more disgusted than usual", "looks less disgusted than usual"),
    ),
    Emotion(
        "fear",
        "raised and drawn brows, wide eyes, lips stretched",
        ExpressionPhrase("looks afraid", "looks more afraid than usual", "looks less afraid than usual"),
    ),
    # The happy face of LLM-GELI's Eq. 7.
    Emotion(
        "happiness",
        "raised cheeks and corners of the mouth",
        ExpressionPhrase("looks happy", "looks happier than usual", "looks less happy than usual"),
    ),
    Emotion(
        "neutral",
        "none of the others",
        ExpressionPhrase("looks neutral", "looks more neutral than usual", "looks less neutral than usual"),
    ),
    Emotion(
        "sadness",
        "inner brows raised, corners of the mouth down",
        ExpressionPhrase("looks sad", "looks sadder than usual", "looks less sad than usual"),
    ),
    Emotion(
        "surprise",
        "raised brows, wide eyes, open mouth",
        ExpressionPhrase("looks surprised", "looks more surprised than usual", "looks less surprised than usual"),
    ),
)
"""All eight, in the order of their columns."""
