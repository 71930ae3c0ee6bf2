"""Pages: one file a group of pages, each with a FastAPI ``router`` and a function that renders without a request.

From the ground up: `links` (every address, on the server and in a bundle; how a page is added), `render` (Jinja, what
every page is given), `sessions` (the list, and all of it as a script for a bundle), `session` (one session, the
evidence of a turn, behaviour over time), `media` (recordings, any part of them), `slices` (what costs us), `forms`
(what changes something), `label` (labels by people), `compare` (two opinions, on the server and as files of a bundle),
`report` (the run's report, with links).
"""
