"""Fear: raised and drawn brows, wide eyes, lips stretched.

Feature ``fear``. Unit: probability, 0 to 1; the eight emotions together 1. Source: LLM-GELI section 5.1; AffectNet
(Mollahosseini, Hasani and Mahoor, 2017); signs: Ekman and Friesen, Facial Action Coding System, 1978.
"""

from __future__ import annotations

from features.emotions.definition import Emotion, Look

FEAR = Emotion(
    feature="fear",
    signs="raised and drawn brows, wide eyes, lips stretched",
    look=Look("looks afraid", "looks more afraid than usual", "looks less afraid than usual"),
)
