"""A person at a terminal as an agent of any environment.

From the ground up: `sanitize` (strangers' words, so that a terminal shows and does not obey them), `console` (where
lines are shown and asked for), `commands` (what a line that was typed means), `prompts` (what an environment shows a
person), `human_agent` (the agent).
"""
