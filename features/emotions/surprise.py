"""Surprise: raised brows, wide eyes, open mouth.

Feature ``surprise``. Unit: probability, 0 to 1; the eight emotions together 1. Source: LLM-GELI section 5.1; AffectNet
(Mollahosseini, Hasani and Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978.
"""

from __future__ import annotations

from features.emotions.definition import Emotion, Look

SURPRISE = Emotion(
    feature="surprise",
    signs="raised brows, wide eyes, open mouth",
    look=Look("looks surprised", "looks more surprised than usual", "looks less surprised than usual"),
)
