"""How sure a figure is: intervals by drawing sessions again.

From the ground up: `figure` (an estimate, or why there is none), `bootstrap` (the same resamples for all that is
compared) and `power` (how many sessions would tell two methods apart).
"""
