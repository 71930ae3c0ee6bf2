"""Two opinions on the same turns, held against each other: what is compared, and what its page shows.

From the ground up: `value_sources` (whose opinion: a method or a reward model, of this run or of another), `methods`
(two of them, session by session), `people` (one against people's labels), `policies` (what two policies answered),
`audited` (a language model asked in several ways).
"""
