"""Replies on the disk.

From the ground up: `schema` (of the cache's file), `cache` (every reply that was paid), `keeper` (writes those that
come in together with one sync), `recorded` (replies as a file to hand on), `lookup` (what is there already, for prices
and previews).
"""
