"""Who acts in an environment.

`agent` (the protocol, scripts made of a function, one that draws), `recorded` (does again what a log holds), `in_time`
(another one, with a limit for each act), `language_model` (asks for each act by one of `prompts/`, once, or for a draft
and then for its revision), `wrapped` (something around any of them), `roster` (all of them by name).
"""
