"""What the rater's replies tell of the turns before them, and what many scores tell of the replies.

From the ground up: `tone` (of a text, by VADER, read once), `cues` (tone, thanks, refusal, repetition, as numbers),
`behaviour` (the face and voice during a reply), `read` (every reply as numbers), `pooled_ridge` (the regression),
`prior` (what was learnt as a file that travels), `model` (its values for a corpus), `travel` (one model of several
corpora, and a corpus judged by it), `gather` (corpora in folders, read for that), `student` (a model of what was
judged of turns), `shipped/` (models that come with this package).
"""
