"""What asking costs: `tokens` (counted or estimated), `prices` (a table to edit), `estimate` (beforehand, or
at most), `budget` (a ceiling that holds; `cache/spending_limit.py` compares).
"""
