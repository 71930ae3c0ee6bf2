"""CANDOR, as it is published: folders of recordings, transcripts and surveys.

From the ground up: `folders` (which files are there), `transcripts`, `survey` (and who is who in it), `media`,
`importer` (all of it as a corpus).
"""
