"""Two opinions on the same turns, held against each other.

From the ground up: `value_sources` (whose opinion: a method or a reward model, of this run or of another), `contrast`
(two voices, session by session), `people` (a voice against people's labels), `policies` (what two policies answered),
`audited` (a language model asked in several ways).
"""
