"""A person takes part in a world at the terminal.

From the ground up: `episode` (one episode with a person, what is kept of it), `sotopia_roles` (which roles a person may
take in a SOTOPIA scenario), then one file a world: `sotopia`, `negotiation`, `deduction`.
"""
