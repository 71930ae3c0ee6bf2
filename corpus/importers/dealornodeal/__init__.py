"""Deal or No Deal: two people divide books, hats and balls (Lewis et al. 2017).

From the ground up: `rows` (the files' rows, each a dialogue as one of the two sees it, and to which part it belongs),
`importer` (a dialogue as a session).
"""

from apportion.corpus.importers.dealornodeal.rows import ITEMS, Row, read_rows

__all__ = ["ITEMS", "Row", "read_rows"]
