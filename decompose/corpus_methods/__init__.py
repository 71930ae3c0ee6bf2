"""Methods that are learned from the scores of many dialogues: objectives for the one loop of `reward_model`.

From the ground up: `objectives` (what learns, how rewards follow from what it predicts; RRD, IRCR, and GELI, which
mixes one with local values) and `rudder`, `local_values` (what a judging method says of
each turn, in units of the returns), `trained_network` (what a corpus gives, and an objective trained on it), `stacked`
(the opinions that a run has, mixed), `predicted_reaction`, `fit` (a method's rewards for a corpus, or a reward model
trained directly), `frozen` (other sessions judged by a finished fit),
`gold` (what tells whether a policy has gained).
"""
