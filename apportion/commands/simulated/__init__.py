"""Commands of simulated dialogues.

From the ground up: `tasks` (which tasks there are, and a sample of them), `playing` (what those that play share),
`simulate` (plays them), `tournament` (every agent with every other), `judge` (has what was
played scored).
"""
