"""Werewolf (Stackelberg Speaker, appendix A.1): two werewolves, a seer, a guardian and three villagers.

From the ground up: `rules` (the rules alone), `deals` (who may be who, from what a player knows), `game` (the
environment), `claims` (what is said of roles), `rule_based` (a script that follows rules of thumb), `posterior` (how
probable each deal is), `bayesian` (a script that acts on it), `agents` (who can play), `kind` (the game to those who
play any).
"""
