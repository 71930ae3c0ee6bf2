"""Recordings opened safely and read on their own clock.

From the ground up: `media` (one file), `channel` (whose part of it), `centre` (the voice among more than two), `audio`,
`video`, `blocks` (long tracks, piece by piece).
"""
