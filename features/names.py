"""The features of `utterance_features`, in the order of their rows; docs/features.md says what each one is."""

from __future__ import annotations

from apportion.features.emotions import EMOTIONS

VOICE_FEATURES = ("f0_hz", "intensity_db", "jitter_local", "jitter_disvoice", "log_energy_db")
"""Of the two jitters a table holds the one that `apportion.features.voice.jitter` names."""
FACE_FEATURES = ("gaze_on_screen", "nod_yes", "nod_no", "smile")
RATES = {"nod_yes": "nod_yes_per_min", "nod_no": "nod_no_per_min"}
"""Of the features that are counts in a window, the same per minute in which the face was seen."""
EYE_FEATURES = ("eyes_closed", "blinks_per_min")
"""Unobserved where the back-end for faces does not tell the lids."""
EXPRESSION_FEATURES = ("frown", "brow_raise", "mouth_open")
"""With ``smile`` the expression, which is no emotion; unobserved where the back-end gives no points."""
EMOTION_FEATURES = tuple(emotion.feature for emotion in EMOTIONS)
FEATURES = (
    *VOICE_FEATURES,
    *FACE_FEATURES,
    *RATES.values(),
    *EYE_FEATURES,
    *EXPRESSION_FEATURES,
    *EMOTION_FEATURES,
)
