"""Behaviour in words, relative to what is usual for the person.

From the ground up: `baseline` (what is usual), `phrases` (what fits), `figures` (the numbers instead), `describe` (a
session's descriptors).
"""
