"""Addresses of a study's pages.

From the ground up: `entry` (links, consent, instructions, the end, and which page comes next for whom), `item` (an
item, and keeping what was answered).
"""
