"""Addresses of a study's pages.

From the ground up: `steps` (which page comes next for whom), `entry` (links and consent), `reading` (instructions and
the end), `item` (an item, and keeping what was answered).
"""
