"""A league of a game of two teams: many matches, in which agents sit in any seat beside and against each other.

It knows no rules of any game. From the ground up: `matches` (who sits where in which match, and who won), `rates` (win
rates and their differences, with intervals over deals), `tables` (by team, role, seat, pairing; votes; written beside
the corpus).
"""
