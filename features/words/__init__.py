"""Behaviour in words: how much of it there was, and how that compares with what is usual for the person.

From the ground up: `baseline` (what is usual), `observed` (one window beside it), `shares` (what takes a share of the
time), `looks` (the emotions), `phrases` (what fits), `figures` (the numbers instead), `describe` (a session's
descriptors).
"""
