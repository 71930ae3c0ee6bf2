"""Happiness: raised cheeks and corners of the mouth.

The happy face of LLM-GELI's Eq. 7.

Feature ``happiness``. Unit: probability, 0 to 1; the eight emotions together 1. Source: LLM-GELI section 5.1; AffectNet
(Mollahosseini, Hasani and Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978.
"""

from __future__ import annotations

from features.emotions.definition import Emotion, Look

HAPPINESS = Emotion(
    feature="happiness",
    signs="raised cheeks and corners of the mouth",
    look=Look("looks happy", "looks happier than usual", "looks less happy than usual"),
)
