"""What the rater's replies tell of the turns before them, and what many scores tell of the replies.

From the ground up: `vader` (of a text, by VADER, read once), `cues` (tone, thanks, refusal, repetition, as numbers),
`behaviour` (the face and voice during a reply), `extract` (every reply as numbers), `pooled_ridge` (the regression),
`pretrained` (what was learnt as a file that travels), `model` (its values for a corpus), `transfer` (one model of
several corpora, and a corpus judged by it), `load_corpora` (corpora in folders, read for that), `student` (a model of
what was judged of turns), `shipped/` (models that come with this package).
"""
