"""What can be wrong in a corpus's tables, a file a table.

From the ground up: `rows` (the rows that break a rule), `turns` (sessions and utterances), `scores` (ratings and turn
labels), `recordings` (media), `backgrounds` (what was known before).
"""
