"""One Night Ultimate Werewolf (Stackelberg Speaker, appendix A.3): five players, seven cards, a night and a vote.

From the ground up: `rules` (the rules alone, on seats and cards; every deal and night), `claims` (a night in words),
`posterior` (every deal and night that fits what a player lived through, and who has the Werewolf's card at dawn,
exactly), `observation` (what a player reads), `game` (the environment, and who can play it), `scripts` (who plays by
claims), `tactics` (six kinds of speech).
"""
