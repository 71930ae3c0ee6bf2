"""View models: what pages show, as frozen dataclasses and drawings (SVG), made of what `apportion.viewer.data` gives.

From the ground up: `list_view` (the list of sessions), `session/`
(one session), `slices_view` (what costs us), `label_view` (what is labelled, how far), `comparisons/` (two opinions
beside each other).
"""
