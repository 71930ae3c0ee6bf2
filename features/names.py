"""The features of `utterance_features`, in the order of their rows; docs/features.md says what each one is."""

from __future__ import annotations

VOICE_FEATURES = ("f0_hz", "intensity_db", "jitter_local", "jitter_disvoice", "log_energy_db")
"""Of the two jitters a table holds the one that `features.jitter` names."""
SIGHT_FEATURES = ("gaze_on_screen", "nod_yes", "nod_no", "smile")
EMOTION_FEATURES = ("anger", "contempt", "disgust", "fear", "happiness", "neutral", "sadness", "surprise")
FEATURES = VOICE_FEATURES + SIGHT_FEATURES + EMOTION_FEATURES
