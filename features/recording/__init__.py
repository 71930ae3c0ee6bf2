"""Recordings opened safely and read on their own clock.

From the ground up: `media` (one file), `channel` (whose part of it), `centre` (the voice among more than two), `audio`,
`spared` (pictures that nobody looks at), `video`, `blocks` (long tracks, piece by piece).
"""
