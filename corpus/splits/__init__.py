"""Who is learned from, and who is kept for the test.

From the ground up: `presets` (published shares), `settings`, `people` (who may come back in another session),
`personsplit` (no person in two splits), `splits`, and `episodes` (rated sessions with their splits).
"""
