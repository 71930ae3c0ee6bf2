"""Characters and scenarios of our own, so that nothing starts empty.

`characters.toml`: who there is, and how they know each other; `scenarios.toml`: where they meet, and what they want.
"""
