"""A buyer and a seller bargain about a price; each has a limit that the other does not know.

From the ground up: `scenario` (what is sold, both limits; bargains in a file), `realization` (acts in sentences, what a
side reads), `game` (the environment), `scripts` and `agents` (who can play), `text_rendering` (what a person at a
terminal reads), `published` (the products of AmazonHistoryPrice as such a file), `simulation` (from a choice to a
corpus, whose sessions are played on).
"""
