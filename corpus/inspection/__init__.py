"""What a corpus can tell, before anything is computed from it.

`inspect` counts, draws histograms and names scores that say little.
"""
