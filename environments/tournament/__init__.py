"""A tournament: every ordered choice of agents plays the same tasks, and a table says who reached what.

It is a corpus with its log, and a table made of them; nothing here knows which environment was played. From the ground
up: `results` (who reached what in which episode), `intervals` (means, their intervals, paired t-tests), `standings` (by
seating, by agent in each seat, by pairs of agents), `page` (the same as Markdown), `files` (the table beside its
corpus), `team_games` (games of two teams: win rates by team, role and seat).
"""
