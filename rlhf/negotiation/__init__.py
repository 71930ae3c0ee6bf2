"""Negotiators that grow beyond their data set (Kwon et al., 2021): learning by dialogues, by reward, and by an expert.

From the ground up:

- `settings`, `rng` (random numbers by their purpose), `data/` (dialogues of acts, people's among them),
- `self_play` (games of all seeds at once), `model/` (the network, all seeds as one batched model, and as a player),
- `checkpoint` (what is on the disk), `supervised` (Eq. 1), `reinforce` (Eq. 2, and RL+SL),
- `novelty` (s_n), `metrics` (section 6), `acquisition` (section 5),
- `agent` (an agent of what came of it), `datasets` (what a cell learns from), `experiment` (a method, all seeds at
once),
- `config` (a training as a file).
"""
