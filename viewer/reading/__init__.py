"""Reads a run, no HTML: where it and its corpus are, the index of its sessions, one session's tables.

From the ground up: `place` (a run's folder, its record and its corpus), `measures` (figures of one episode: its
sum, its lowest turn), `words` (text as it is indexed and searched), `packing` (rows of a session as one blob),
`slugs` (a session id in an address), `paging` (long lists, a page at a time), `index` (the SQLite file beside the run:
its tables, where it lies, whether it is up to date), `build` (makes it; run as a process of its own), `listing`
(sessions sorted, filtered and searched), `session` (one session, whole), `recordings` (its files, and how loud they
are), `run` (a run that is served: its index follows it), `naming` (sessions by their ids: address and words), `beside`
(labels, another run, responses), `to_label` (what is left to label), `compared/` (two opinions held against each
other).
"""
