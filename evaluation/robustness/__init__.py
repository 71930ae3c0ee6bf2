"""Does a judge say the same when it is asked otherwise? The result of an audit.

From the ground up: `rank_stability` (how far the order of the turns holds) and `table` (as text).
"""
