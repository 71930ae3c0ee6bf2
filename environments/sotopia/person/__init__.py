"""A person as one of the characters.

From the ground up: `telling` (what the person reads and can type), `casting` (who plays what), `playing` (from a choice
to a session of a corpus).
"""
