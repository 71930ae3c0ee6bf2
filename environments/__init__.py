"""Simulated dialogues: social games and scenarios, their rules, agents and judges; an episode becomes a corpus.

Empty yet: its place, its layer and its contract are kept here.
"""
