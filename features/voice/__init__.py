"""What is measured in a person's sound.

From the ground up: `pitch`, `intensity`, `energy` and `jitter` (a feature each), `measures` (all of them on one track),
`listen` (from a row of the media table).
"""
