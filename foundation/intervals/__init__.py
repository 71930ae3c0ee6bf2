"""A figure and how sure it is, whatever was measured.

From the ground up: `estimate` (a figure with its interval, or why there is none), `proportion` (a share, of independent
or clustered trials) and `resampling` (a bootstrap over any units).
"""
