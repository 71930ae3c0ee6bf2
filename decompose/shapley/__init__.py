"""Shapley values of the players of any game: `coalitions` (which are asked about), `values` (what they add up to)."""
