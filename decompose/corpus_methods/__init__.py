"""Methods that are learned from the scores of many dialogues: objectives for the one loop of `reward_model`.

From the ground up: `training_data` (what a corpus gives to learn from), `network` (what learns, and how rewards follow
from what it predicts), the objectives `rrd`, `ircr` and `rudder`, `local_values` (what a judging method says of each
turn, in units of the returns), `geli` (one of the objectives mixed with those), `trained_network` (one of these,
trained), `fit` (a method's rewards for a whole corpus), `end_to_end` (a reward model trained on such an objective).
"""
