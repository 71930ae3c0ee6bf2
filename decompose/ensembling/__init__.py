"""Opinions on every target turn, from wherever they come: a reaction, a language model, what another corpus taught.

From the ground up: `component` (one opinion, the scale that all share, how far two agree), `predictiveness` (how surely
an opinion predicts scores), `stacking` (what each weighs, and the values of all together); `active_selection` (which
sessions a language model or people are asked about), `student` (what its judgements of those say of all).
"""
