"""What asking costs: `tokens` (counted or estimated), `prices` (a table to edit), `estimate` (beforehand), `budget`
(a ceiling that holds).
"""
