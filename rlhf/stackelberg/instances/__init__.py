"""Speaking turns as instances (section 3.1), and what their leaders want to hear (section 3.2).

From the ground up: `instance` (one turn, as texts), `sources` (the turns of sessions, corpora and files, drawn as in
section 4.1), `asking` (what a language model is asked of them, Eq. 1 and 2: priced, previewed, kept).
"""
