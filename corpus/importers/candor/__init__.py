"""CANDOR, as it is published: folders of recordings, transcripts and surveys.

From the ground up: `folders` (which files are there), `survey`, `transcripts`, `people` (who is who in them), `media`,
`importer` (all of it as a corpus).
"""
