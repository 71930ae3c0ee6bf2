"""A person who negotiates in a terminal.

`telling` (what is shown, and what can be typed), `playing` (a game to its end).
"""
