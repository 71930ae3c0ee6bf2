"""Recordings opened safely and read on their own clock.

From the ground up: `media` (one file), `channel` (whose part of it), `channel_selection` (the voice among more than
two), `audio`, `skip_frames` (pictures that nobody looks at), `video`, `chunks` (long tracks, piece by piece).
"""
