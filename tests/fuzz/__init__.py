"""Damaged corpora, configurations and command lines, made by a fixed seed and given to the command line in one process.

From the ground up: `mutations` (what damages a text, a value, a file, a folder), `seeds` (small good sources of every
kind of import, and what strangers brought), `configurations` and `command_lines` (good and odd ones), `cases` (one
command, and how it ended). `python -m benchmarks.strangers` gives 5,000 and tells their memory, too; `python -m
tests.fuzz --cases 100000 --seed 7` takes longer.
"""
