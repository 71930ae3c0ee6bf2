"""A study with people: they negotiate with several agents without knowing which, and say what they think of each.

From the ground up: `settings` (a study's file), `survey` (the quiz and the ten questions), `design` (who plays what, in
which order), `progress_log` (what a person has done so far, on the disk), `session` (a person at a terminal, from the
consent to the last question), `results` (what came of it), `report` (its tables), `corpus` (its games as one).
"""
