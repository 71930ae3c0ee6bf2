"""What importers share: what one is given, and what is made of files that come with any format.

From the ground up: `sources` and `json_items` (what an importer is given, and what it left out), `asking` (whoever runs
it), `labels` (said of an earlier turn), `recordings`, `measured` (behaviour by other programs), `captions` and
`whisperx` (two formats of a transcript), `time_unit`, `transcript_table`, `transcripts` and `ratings_csv` (whose files
are whose).
"""
