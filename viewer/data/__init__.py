"""Reads a run, no HTML: where it and its corpus are, the index of its sessions, one session's tables.

From the ground up: `run_location` (a run's folder, its record, its corpus, and what is looked at together with it),
`index` (the SQLite file beside the run: its tables, where it lies, whether it is up to date), `build` (makes it; run as
a process of its own), `listing` (sessions sorted, filtered and searched, a page at a time), `session` (one session,
whole), `recordings` (its files, and how loud they are), `run` (a run that is served: its index follows it),
`session_ref` (sessions by their ids: address and words).
"""
