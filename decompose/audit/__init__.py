"""The same question asked in several ways, to see whether a language model's order of the turns holds.

From the ground up: `sampling` (choices that a seed decides, such as which sessions are asked about), `case` (one
episode as it is asked about), the changes `paraphrase`, `descriptor_order`, `name_swap` and `prompt_injection`,
`perturbations` (their registry), `query` (a session's turns judged once more).
"""
