"""`apportion study`: people say which responses are better, blind.

From the ground up: `answers` (which database they are in), `init` (a study's folder), `power` (how large it has to
be), `links` (one an annotator), `group` (the command and those below it).
"""
