"""A neutral face: none of the others.

Never told in words: it is what is left when nothing else is seen.

Feature ``neutral``. Unit: probability, 0 to 1; the eight emotions together 1. Source: LLM-GELI section 5.1; AffectNet
(Mollahosseini, Hasani and Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978.
"""

from __future__ import annotations

from features.emotions.definition import Emotion

NEUTRAL = Emotion(
    feature="neutral",
    signs="none of the others",
    look=None,
)
