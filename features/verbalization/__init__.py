"""Behaviour in words: how much of it there was, and how that compares with what is usual for the person.

From the ground up: `zscore` (one window beside what is usual), `phrases` (what fits), `numeric`
(the numbers instead), `verbalize` (a session's descriptors).
"""
