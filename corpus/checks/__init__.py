"""What can be wrong in a corpus's tables, a file a table.

From the ground up: `rows` (the rows that break a rule, and backgrounds), `turns` (sessions and utterances), `scores`
(ratings and turn labels), `recordings` (media), `events`.
"""
