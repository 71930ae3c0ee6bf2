"""`apportion study`: people say which responses are better, blind.

From the ground up: `init` (a study's folder), `power` (how large it has to be), `group` (the command and those below
it).
"""
