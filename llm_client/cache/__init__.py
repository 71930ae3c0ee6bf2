"""Replies on the disk.

From the ground up: `schema` (of the cache's file and its replies), `leases` (which process is asking what),
`reservations` (what a try may cost), `shared_slots` (who may send how much), `cache` (every reply that was
paid, and by which model), `writer` (writes what comes together with one sync), `pages`, `inspection` and `repair`
(damaged files), `recorded` (replies as a file to hand on).
"""
