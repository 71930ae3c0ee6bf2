"""Recordings opened safely and read on their own clock.

From the ground up: `media` (one file), `channel` (whose part of it), `audio`, `video`, `chunks` (long tracks, piece by
piece).
"""
