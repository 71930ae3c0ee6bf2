"""What is measured in a person's sound.

From the ground up: `pitch`, `jitter`, `shimmer`, `spectral_tilt`, `speech_rate` and `laughter`, `voice_features` (all
on one track), `load_voice` (from a row of the media table).
"""
