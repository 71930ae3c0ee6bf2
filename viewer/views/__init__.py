"""View models: what pages show, as frozen dataclasses and drawings (SVG), made of what `apportion.viewer.data` gives.

From the ground up: `drawings` (small pictures inside a line of text), `list_view` (the list of sessions), `session/`
(one session), `patterns_view` (what costs us), `label_view` (what is labelled, how far), `comparisons/` (two opinions
beside each other).
"""
