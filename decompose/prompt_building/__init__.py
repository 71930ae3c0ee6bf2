"""How a language model is asked about an episode; `decompose/reply_parsing.py` reads its reply.

From the ground up: `transcript` (the dialogue and its backgrounds as data), `pseudonymize` (other names, and the way
back), `prompt` (a prompt's header and text, filled from an episode), `chunks` (dialogues longer than a model's
context), `rubric` (signals from scored dialogues, and their file). The texts are in `decompose/prompts/`.
"""
