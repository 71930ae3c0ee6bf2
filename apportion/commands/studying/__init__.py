"""`apportion study`: people say which responses are better, blind.

From the ground up: `init` (a study's folder), `group` (the command and those below it).
"""
