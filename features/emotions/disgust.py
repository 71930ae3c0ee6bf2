"""Disgust: wrinkled nose, raised upper lip.

Feature ``disgust``. Unit: probability, 0 to 1; the eight emotions together 1. Source: LLM-GELI section 5.1; AffectNet
(Mollahosseini, Hasani and Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978.
"""

from __future__ import annotations

from features.emotions.definition import Emotion, Look

DISGUST = Emotion(
    feature="disgust",
    signs="wrinkled nose, raised upper lip",
    look=Look("looks disgusted", "looks more disgusted than usual", "looks less disgusted than usual"),
)
