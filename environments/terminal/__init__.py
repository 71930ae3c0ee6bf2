"""A person at a terminal as an agent of any environment.

From the ground up: `printable` (strangers' words, so that a terminal shows and does not obey them), `screen` (where
lines are shown and asked for), `commands` (what a line that was typed means), `telling` (what an environment shows a
person), `person` (the agent).
"""
