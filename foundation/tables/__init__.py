"""Tables of figures that a person reads.

From the ground up: `numbers` (as a person reads them), `columns` (rows under each other) and `markdown` (tables of
anything).
"""
