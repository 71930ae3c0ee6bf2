"""New characters, relationships and scenarios by a language model, which a person accepts or rejects (C.2, E.2).

From the ground up: `inputs` (vignettes, and things for sale), `sale` (what both sides of one aim at), `prompts/` (those
of C.2), `replies` (read strictly), `questions` (a prompt filled in, and how its reply is read), `rules` (what something
is held to), `scenario_rules` (E.2's) and `profile_rules`, `choice` (what is to be generated), `generate` (candidates),
`pricing` (what that would cost), `review` (the list that a person decides on, and what is accepted).
"""
