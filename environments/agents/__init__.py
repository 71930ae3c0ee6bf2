"""Who acts in an environment.

`agent` (the protocol; scripts; a limit for each act; what a log holds, done again), `private_notes` (what a
model writes for itself before), `language_model` (asks for each act by one of `prompts/`, once, or for a draft and then
for its revision), `wrappers` (something around any of them), `registry` (all of them by name).
"""
