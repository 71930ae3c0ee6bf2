"""Anger: brows drawn together, hard eyes, lips pressed or teeth shown.

Feature ``anger``. Unit: probability, 0 to 1; the eight emotions together 1. Source: LLM-GELI section 5.1; AffectNet
(Mollahosseini, Hasani and Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978.
"""

from __future__ import annotations

from features.emotions.definition import Emotion, Look

ANGER = Emotion(
    feature="anger",
    signs="brows drawn together, hard eyes, lips pressed or teeth shown",
    look=Look("looks angry", "looks angrier than usual", "looks less angry than usual"),
)
