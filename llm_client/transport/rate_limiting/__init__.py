"""How fast a server is asked.

From the ground up: `pace` (how fast it wants to be asked), `limits` (requests and tokens a minute, at that pace, for
one client or several).
"""
