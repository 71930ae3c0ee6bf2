"""Commands of simulated dialogues.

From the ground up: `tables` (the tables of SOTOPIA from rated episodes), `trained_tables` (those of SAVOIR),
`task_file` (what those that write a file of tasks say alike), `hard` (tasks that were hard in rated episodes),
`task_generation` (new tasks by a language model), `tasks` (which tasks there are, and a sample of them), `playing`
(what those that play share), `simulate` (agents play them), `tournament` (every agent with every other), `play` (a
person does), `study` (people play agents that they do not know), `negotiate` (a person negotiates, in a study or not),
`annotate` (a person answers what a training asks), `judge_people` (people score what was played), `judge` (models,
or people) and `label_exact` (what acts were worth, computed).
"""
