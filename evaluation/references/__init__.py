"""What figures are taken on: the held-out turns, and what people said of them.

From the ground up: `test_set` (the test episodes, and values on their turns), `turn_labels` (labels on those turns) and
`support` (on how many sessions a method rests that could say nothing of others).
"""
