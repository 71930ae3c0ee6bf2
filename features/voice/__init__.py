"""What is measured in a person's sound.

From the ground up: `pitch`, `jitter`, `shimmer`, `spectral_tilt` and `speech_rate`, `voice_features` (all of them on
one track), `load_voice` (from a row of the media table).
"""
