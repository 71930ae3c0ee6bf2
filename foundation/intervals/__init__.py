"""A figure and how sure it is, whatever was measured.

`resampling`: a bootstrap over any units.
"""
