"""The network that gives the eight emotions, and where its file comes from.

From the ground up: `sidecar` (what such a file is), `published` (the models known by name), `network` (one that runs),
`choice` (which one a run uses).
"""
