"""Chats as they lie about, each way to keep them a file.

From the ground up: `messages` (what was said in a message, and what of it is no speech), `scales` (scores as people
write them), `keys` (which key holds what, where they are not ours), `tables` (a row a turn, or a row a chat),
`trace_records` and `traces` (what observability tools export), `sources` (what a file holds), `row_groups` (a data set
that is too large to hold), `log` (what an import collects).
"""
