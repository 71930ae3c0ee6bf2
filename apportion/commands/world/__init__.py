"""Commands of simulated dialogues.

From the ground up: `tables` (the tables of SOTOPIA from rated episodes), `trained_tables` (those of SAVOIR),
`stackelberg_tables` (those of the Stackelberg Speaker), `task_sets` (which tasks there are, and new ones), `playing`
(what those that play share), `games` (what those share that negotiate), `simulate` (agents play them), `play` (a person
does), `deduction` (games of hidden roles: agents play them, or a person does), `leagues` (many matches of them),
`tournament` (every agent with every other), `study` (people play agents that they do not know), `negotiate` (a person
negotiates, in a study or not), `annotate` (a person answers what a training asks), `judge_people` (people score what
was played), `judge` (models, or people) and `label_exact` (what acts were worth, computed).
"""
