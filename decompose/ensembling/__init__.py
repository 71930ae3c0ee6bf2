"""Opinions on every target turn, from wherever they come: a reaction, a language model, what another corpus taught.

From the ground up: `component` (one opinion, and what it foretells of scores that it had not seen), `standardize` (the
scale that all share, and how far two say the same), `predictiveness` (how surely a source foretells scores), `stacking`
(what each weighs, and why), `combine` (the values of all together); `active_selection` (which sessions a language model
is asked about), `student` (what its judgements of those say of all).
"""
