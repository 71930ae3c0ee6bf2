"""Commands of simulated dialogues.

From the ground up: `tasks` (which tasks there are, and a sample of them), `simulate` (plays them).
"""
