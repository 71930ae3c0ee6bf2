"""View models: what pages show, as plain values and drawings (SVG), made of what `apportion.viewer.data` gives.

From the ground up: `list_view` (the list of sessions), `session/` (one session), `slices_view` (what costs us),
`label_view` (the sessions to label, how far each is).
"""
