"""Tables of figures that a person reads.

From the ground up: `numbers` (as a person reads them), `columns` (rows under each other), `markdown` (tables of
anything) and `grid` (a table of text for every format).
"""
