"""Contempt: one corner of the mouth tightened or raised.

Feature ``contempt``. Unit: probability, 0 to 1; the eight emotions together 1. Source: LLM-GELI section 5.1; AffectNet
(Mollahosseini, Hasani and Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978.
"""

from __future__ import annotations

from features.emotions.definition import Emotion, Look

CONTEMPT = Emotion(
    feature="contempt",
    signs="one corner of the mouth tightened or raised",
    look=Look("looks contemptuous", "looks more contemptuous than usual", "looks less contemptuous than usual"),
)
