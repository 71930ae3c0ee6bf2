"""What the rater's replies tell of the turns before them, and what many scores tell of the replies.

From the ground up: `vader` (the tone of a text), `cues` (tone, thanks, refusal, repetition, as numbers), `extract`
(every reply, and the behaviour during it, as numbers), `pretrained` (a learned model as a file), `model` (the
regression, and its values for a corpus), `transfer` (one model of several corpora, and a corpus judged by it),
`student` (a model of what was judged of turns), `shipped/` (models that come with this package).
"""
