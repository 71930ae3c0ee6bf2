"""The error slices of a run: kinds of turn with rewards of their own.

From the ground up: `turn_attributes` (cues and places of a turn) and `run_slices` (a run's turns, what is found in them
by each method, and its files).
"""
