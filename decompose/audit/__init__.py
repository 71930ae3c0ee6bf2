"""The same question asked in several ways, to see whether a language model's order of the turns holds.

From the ground up: `draw` (choices that a seed decides), `sessions` (which are asked about), `case` (one episode as it
is asked about), the changes `paraphrase`, `descriptor_order`, `names` and `planted`, `perturbations` (their registry),
`ask` (a session's turns judged once more).
"""
