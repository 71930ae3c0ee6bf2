"""A group of methods side by side, on the turns that all of them have values for.

From the ground up: `baselines` (what every method has to beat), `method_comparison` (all figures of a method),
`controls` (what agrees with people without judging a turn), `computed_labels` (agreement with truth that nobody judged)
and `warnings` (what the figures cannot tell).
"""
