"""What the pages of the group Compare show.

From the ground up: `methods` (two voices, session by session), `people` (a scatter against labels), `policies` (two
answers beside each other), `audited` (a session asked in several ways).
"""
