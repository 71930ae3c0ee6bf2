"""CaSiNo's game: two neighbours at a campsite share out food, water and firewood; who walks away has something, too.

It is the game of `apportion.environments.negotiation` with another pool, other values and other words. From the ground
up: `contexts` (who wants what), `realization` (the issues by their names), `game` (the environment), `scripts` and
`agents` (who can play), `simulation` (from a choice to a corpus, whose sessions are played on).
"""
