"""Files of published models: brought here, and kept in one place.

From the ground up: `download` (one file over HTTP, one fetch at a time), `index` (where a wheel of a package index
lies), `wheel` (pinned files out of one), `mesh` (the four networks of the face mesh).
"""
