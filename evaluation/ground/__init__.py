"""What figures are taken on: the held-out turns, and what people said of them.

From the ground up: `held_out` (the test episodes, and values on their turns), `turn_labels` (labels on those turns) and
`rests` (on how many sessions a method rests that could say nothing of others).
"""
