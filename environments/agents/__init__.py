"""Who acts in an environment.

`agent` (the protocol, scripts made of a function, one that draws), `language_model` (asks for each act by one of
`prompts/`).
"""
