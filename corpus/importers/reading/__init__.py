"""What importers share: what one is given, and what is made of files that come with any format.

From the ground up: `sources` and `json_items` (what an importer is given, and what it left out), `labels` (said of an
earlier turn), `recordings`, `transcripts` and `ratings_csv` (whose files are whose).
"""
