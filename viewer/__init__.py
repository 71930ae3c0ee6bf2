"""Web pages over a finished run's folder and over tables of responses.

Empty yet: its place, its layer and its contract are kept here.
"""
