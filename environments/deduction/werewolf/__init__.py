"""Werewolf (Stackelberg Speaker, appendix A.1): two werewolves, a seer, a guardian and three villagers.

From the ground up: `rules` (the rules alone), `role_assignments` (who may be who, from what a player knows), `game`
(the environment), `claims` (what is said of roles), `heuristic_agent` (a script that follows rules of thumb),
`posterior` (how probable each deal is), `bayesian_agent` (a script that acts on it), `agents` (who can play),
`register` (the game to those who play any).
"""
