"""A person takes part in a world at the terminal.

`episode` (one episode with a person, what is kept of it), then one file a world: `sotopia`, `negotiation`, `deduction`.
"""
