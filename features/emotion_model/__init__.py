"""The network that gives the eight emotions, or the two that give seven, and where their files come from.

From the ground up: `sidecar` (what such a file is), `published` (the models known by name), `network` (one that runs),
`face_api` and `mini_xception` (a small network each), `expression_pair` (both), `choice` (which one a run uses).
"""
