"""Avalon: five to ten players send each other on quests; some of them are evil, and one of the good ones knows it.

From the ground up: `cast` (the roles), `rules` (alone, on seats and plain values), `role_assignments` (who may have
which role, by logic), `posterior` (how probable each deal is), `observation` (what a player knows), `game` (the
environment, and who can play it), `claims` (what scripts say), `scripts` (who plays), `strategist` (what a
search plays on).
"""
