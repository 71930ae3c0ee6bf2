"""Who acts in an environment.

`agent` (the protocol, scripts made of a function, one that draws), `replay` (does again what a log holds), `timeout`
(another one, with a limit for each act), `language_model` (asks for each act by one of `prompts/`, once, or for a draft
and then for its revision), `wrappers` (something around any of them), `registry` (all of them by name).
"""
