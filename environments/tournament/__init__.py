"""A tournament: every ordered choice of agents plays the same tasks, and a table says who reached what.

It is a corpus with its log, and a table made of them; nothing here knows which environment was played. From the ground
up: `results` (who reached what in which episode), `standings` (means with intervals and paired t-tests, by seating, by
agent in each seat, by pairs of agents), `page` (the same as Markdown, and as files beside the corpus), `team_games`
(games of two teams: win rates by team, role and seat).
"""
