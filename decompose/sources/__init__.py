"""Opinions on every target turn, from wherever they come: a reaction, a language model, what another corpus taught.

From the ground up: `source` (one opinion, and what it foretells of scores that it had not seen).
"""
