"""Influence: how far an utterance moves what is said next, by the frozen Measurer of the Stackelberg Speaker.

From the ground up: `measurer` (what it is asked and answers), `shift` (Eq. 5 and 7), `shared_prefixes` (what sequences
share is computed once), `chat_text` (a prompt in a model's own chat template), `local` (a causal language model on this
machine), `served` (one at a server that gives the probabilities of a prompt), `opened` (the one that a configuration
names), `follower` (who replied in any corpus, and what they read), `intents` (replies that were wanted), `preflight`
(what can be known before the work), `judge` (the methods).
"""
