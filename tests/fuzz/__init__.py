"""Damaged corpora and configurations, made by a fixed seed and given to the command line in one process.

From the ground up: `mutations` (what damages a text, a value, a file, a folder), `seeds` (small good sources of every
kind of import), `configurations` (good and odd settings), `cases` (one command, and how it ended). The slow test takes
a fixed number; `python -m tests.fuzz --cases 100000 --seed 7` takes longer.
"""
