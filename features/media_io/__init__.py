"""Recordings opened safely and read on their own clock.

From the ground up: `media` (one file), `channel` (whose part of it), `audio`, `orientation` (how a picture is laid
out), `video`, `chunks` (long tracks, piece by piece).
"""
