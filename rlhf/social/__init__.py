"""Social trainings of others (SOTOPIA), on bundled bargains whose goal score the rules say exactly.

From the ground up: `episodes` (tasks for training and held-out ones, episodes in a seat, their score), `run` (what
every method is lent: a policy with adapters, playing, learning), then a file for each method: `sotopia_pi` (behaviour
cloning and self-reinforcement), `dsi` (strategies injected while episodes are made), `sdpo` (preferences between
segments). Before a frozen policy: `strategies` (in words, and how a small policy learns to follow them), `planner`
(what decides before each act, its folder), `reinforce` (how it learns), `ppdpp` (chooses one of a list), `epo` (a
reasoning model writes one), `dat` (prefix embeddings in place of words). `methods` (by name; before, training, after,
and the folder that is written).
"""
