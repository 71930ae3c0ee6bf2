"""How fast a server is asked.

From the ground up: `pace` (how fast it wants to be asked), `shared` (limits that hold for several clients), `limits`
(requests and tokens a minute, at that pace).
"""
