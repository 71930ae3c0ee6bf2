"""`apportion study`: people say which responses are better, blind.

From the ground up: `answers` (which database they are in), `power` (how large a study has to be), `init` (a study's
folder), `links` (one for each annotator), `serve` (their pages), `judge` (a language model in a person's place),
`report` (what came of it), `export` (to and from other programs), `demo` (with simulated annotators), `group` (the
command and those below it).
"""
