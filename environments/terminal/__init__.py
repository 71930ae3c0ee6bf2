"""A person at a terminal as an agent of any environment.

`console` (where lines are shown and asked for; strangers' words, which a terminal shows and does not obey),
`human_agent` (what a typed line means, what a person is shown, the agent).
"""
