"""How a language model is asked about an episode, and how its reply is read.

From the ground up: `transcript` (the dialogue as data), `backgrounds` (what was known before it), `pseudonymize` (other
names, and the way back), `anonymize` (what the settings let a model see), `prompt_header` (what a prompt's file says of
its answers), `prompt` (a prompt's text, filled from an episode), `reply` (a reply's values, or the mistake in it),
`chunks` (dialogues longer than a model's context).
The texts are in `decompose/prompts/`.
"""
