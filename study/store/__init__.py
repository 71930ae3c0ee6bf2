"""Answers, in SQLite beside the study or in PostgreSQL by URL: whatever was confirmed is there after a kill.

From the ground up: `rows` (what is told and kept, and what can go wrong), `database`
(connections, transactions, a database that goes away), `links` (a token an annotator), `assignments` (who has which
items, and what comes next), `store` (all that pages and reports call).
"""
