"""One Night Ultimate Werewolf (Stackelberg Speaker, appendix A.3): five players, seven cards, a night and a vote.

From the ground up: `rules` (the rules alone, on seats and cards), `worlds` (every deal and every night of it, and those
that fit what a player lived through), `claims` (a night in words), `posterior` (who has the Werewolf's card at dawn,
exactly), `heuristic_scores` (the same by plain points), `observation` (what a player reads), `game` (the environment),
`scripts` (who plays by claims), `register` (what others need of it).
"""
