"""What a corpus can tell, before anything is computed from it.

From the ground up: `histogram`, `weak_ratings` (scores that say little) and `inspect`.
"""
