"""What costs us, for a finished run: its turns with all that is known of them, and what was found beside it.

From the ground up: `turn_attributes` (cues and places of a turn), `embedded` (what a frozen backbone makes of its
words), `read` (a run's target turns), `write` (found, and kept as Markdown and JSON).
"""
