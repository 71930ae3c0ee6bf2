"""Sessions with their behaviour as tiers that annotators open.

From the ground up: `tiers` (stretches of time that do not overlap), `behaviour` (a session as tiers), `elan`,
`textgrid`.
"""
