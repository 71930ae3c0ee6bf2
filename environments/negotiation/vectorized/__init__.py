"""Many negotiations at once, on arrays: for learning and for figures, where one game at a time is too slow.

From the ground up: `engine` (the rules of `apportion.environments.negotiation.rules`, G games at once), `scripts`
(scripted negotiators in all of them).
"""
