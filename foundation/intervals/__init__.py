"""A figure and how sure it is, whatever was measured.

From the ground up: `estimate` (a figure with its interval, or why there is none) and `resampling` (a bootstrap over any
units).
"""
