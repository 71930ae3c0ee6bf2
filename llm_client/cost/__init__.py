"""What asking costs: `tokens` (counted or estimated), `prices` (a table to edit), `estimate` (beforehand),
`upper_bound` (at most, where how much will be asked is open), `budget` (a ceiling that holds).
"""
