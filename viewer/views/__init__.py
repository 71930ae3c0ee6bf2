"""View models of larger pages, as plain values and drawings: `session/` (one session), `label_view` (what to label),
`label_trust` (what the labels say of methods).
"""
