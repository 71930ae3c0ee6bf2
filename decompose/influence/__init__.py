"""Influence: how far an utterance moves what is said next, by the frozen Measurer of the Stackelberg Speaker.

From the ground up: `scorer` (what it is asked and answers, Eq. 5 and 7), `prefix_tree` (what sequences share is
computed once), `chat_text` (a prompt in a model's own chat template), `local_scorer` (a causal language model on this
machine), `served_scorer` (one at a server that gives the probabilities of a prompt), `follower` (who replied, and what
they read), `preflight` (wanted replies, and what can be known before the work), `judge` (the methods). `zero_shot` asks
the same models whether the user's next turn is a pleased one.
"""
