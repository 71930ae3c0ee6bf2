"""Replies on the disk.

From the ground up: `schema` (of the cache's file), `reading` (a reply that may be damaged), `owner` (which process
asks), `claims` (who is asking what), `shares` (who may send how much), `cache` (every reply that was paid), `served`
(which model a server says that answered), `keeper` (writes what comes together with one sync), `waiting` (for other
processes), `pages`, `inspection` and `salvage` (damaged files), `recorded` (replies as a file to hand on), `lookup`
(what is there already, for prices and previews).
"""
