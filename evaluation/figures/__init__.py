"""The figures, a file each.

`global_loss`, `dominant_emotion` (of a face's emotions) and `local_difference`, `agreement`, `calibration`,
`consistency`, `disagreement` (between methods), `trust` (what a few labelled dialogues say of methods).
"""
