"""Shapley values of the players of any game, and what is compared with them.

From the ground up: `coalitions` (which are asked about), `value_function` (what they are worth), `kriging` (what pairs
of them tell of the rest), `values` (what that adds up to; leaving one out; in the order of play).
"""
