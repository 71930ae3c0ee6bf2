"""New characters, relationships and scenarios by a language model, which a person accepts or rejects (C.2, E.2).

From the ground up: `inputs` (vignettes, and things for sale), `prompts/` (those of C.2), `replies` (read strictly),
`questions` (a prompt filled in, and how its reply is read), `profile_rules` and `scenario_rules` (E.2's; what something
is held to), `choice` (what is to be generated), `generate` (candidates, and what they would cost), `review` (the list
that a person decides on, and what is accepted).
"""
