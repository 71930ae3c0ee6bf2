"""The same question asked in several ways, to see whether a language model's order of the turns holds.

From the ground up: `sampling` (choices that a seed decides), `case` (one episode as it is asked about, and its
changes), `perturbations` (their registry), `query` (a session's turns judged once more).
"""
