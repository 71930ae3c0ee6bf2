"""Files that strangers wrote, read strictly.

From the ground up: `jsontext` and `textfile`, `csvtext` (separators), `csvfile` and `tablefile` (rows, and where one is
wrong), `stored_rows` (those of a large table, by row group), `stored_vectors` (vectors of its turns), `header_clock`
(when a recording begins and ends), `picture_size` (which pictures are too large to read).
"""
