"""Werewolf (Stackelberg Speaker, appendix A.1): two werewolves, a seer, a guardian and three villagers, or others.

From the ground up: `cast` (the roles), `rules` (the rules alone), `role_assignments` (who may be who, from what a
player knows), `game` (the environment, and who can play it), `claims` (what is said of roles), `posterior` (how
probable each deal is), `scripts` (one that follows rules of thumb, one that acts on the posterior), `moves` (the few
acts that one may think of), `strategist` (what a search plays on).
"""
