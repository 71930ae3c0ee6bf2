"""The features of `utterance_features`, in the order of their rows; docs/features.md says what each one is."""

from __future__ import annotations

VOICE_FEATURES = ("f0_hz", "intensity_db", "jitter_local", "log_energy_db")
SIGHT_FEATURES = ("gaze_on_screen", "nod_yes", "nod_no", "smile")
FEATURES = VOICE_FEATURES + SIGHT_FEATURES
