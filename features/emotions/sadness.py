"""Sadness: inner brows raised, corners of the mouth down.

Feature ``sadness``. Unit: probability, 0 to 1; the eight emotions together 1. Source: LLM-GELI section 5.1; AffectNet
(Mollahosseini, Hasani and Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978.
"""

from __future__ import annotations

from features.emotions.definition import Emotion, Look

SADNESS = Emotion(
    feature="sadness",
    signs="inner brows raised, corners of the mouth down",
    look=Look("looks sad", "looks sadder than usual", "looks less sad than usual"),
)
