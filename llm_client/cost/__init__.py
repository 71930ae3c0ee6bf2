"""What asking costs: `tokens` (counted or estimated), `prices` (a table to edit), `estimate` (beforehand, or
at most), `spending_limit` (a ceiling that holds; `cache/reservations.py` compares).
"""
