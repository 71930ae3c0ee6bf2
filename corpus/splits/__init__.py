"""Who is learned from, and who is kept for the test.

From the ground up: `settings`, `personsplit` (no person in two splits), `splits` (who goes where, and the
rated sessions with their splits).
"""
