"""Avalon: five players send each other on quests; two of them are evil, and one of the good ones knows it.

From the ground up: `rules` (alone, on seats and plain values), `deals` (who may have which role, by logic),
`random_play` (games of chance on the rules alone), `beliefs` (how probable each deal is), `observation` (what a player
knows), `game` (the environment), `claims` (what scripts say), `scripts` (who plays), `agents` (who can, by name),
`kind` (to those who play any game).
"""
