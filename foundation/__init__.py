"""What everybody needs and nobody owns; knows nothing of the rest.

From the ground up: `errors` (what a person sees), `listing` (the first few, and how many more), `lazy` (names imported
on first use), `extras` (packages that are optional), `processes` (those that share one piece of work).
"""
