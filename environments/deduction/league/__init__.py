"""A league of a game of hidden roles: played as one corpus, and read from it for the tables.

From the ground up: `choice` (who plays which matches), `replay` (who sat where, who won and who was voted for, from
the log).
"""
