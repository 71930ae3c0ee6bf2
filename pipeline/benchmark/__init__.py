"""Every method that a corpus can feed, judged side by side.

From the ground up: `session` (one held-out session with all methods' rewards), `page` (how it is shown), `benchmark`
(which methods, and what is written).
"""
