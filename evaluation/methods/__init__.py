"""A group of methods side by side, on the turns that all of them have values for.

From the ground up: `baselines` (what every method has to beat), `bench` (all figures of a method), `computed`
(agreement with truth that nobody judged) and `caution` (what the figures cannot tell).
"""
