"""Opinions on every target turn, from wherever they come: a reaction, a language model, what another corpus taught.

From the ground up: `source` (one opinion, and what it foretells of scores that it had not seen), `standard` (the scale
that all share, and how far two say the same), `foretelling` (how surely a source foretells scores), `weighing` (what
each weighs, and why), `mixing` (the values of all together); `choosing` (which sessions a language model is asked
about), `student` (what its judgements of those say of all).
"""
