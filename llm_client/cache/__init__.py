"""Replies on the disk, or on a server.

From the ground up: `schema` (of the ledger's tables and its replies), `database` (an SQLite file), `postgresql` (a
database that many hosts share), `leases` (which process is asking what), `reservations` (what a try may cost),
`shared_slots` (who may send how much), `cache` (every reply that was paid, and by which model),
`server_leases` (what one process does alone), `writer` (writes what comes together with one sync), `pages`,
`inspection` and `repair` (damaged files), `recorded` (replies as a file to hand on).
"""
