"""Commands of simulated dialogues.

From the ground up: `tasks` (which tasks there are, and a sample of them), `playing` (what those that play share),
`simulate` (agents play them), `tournament` (every agent with every other), `play` (a person does), `judge` (has what
was played scored; `judge_people`: by people), `tables` (the tables of a paper from the scores).
"""
