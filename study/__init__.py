"""Studies with people: which of several policies' responses they find better, by criteria, without knowing whose it is.

From the ground up: `definition` (a study as data: criteria, items, letters, what is drawn for whom). Pages are in
`viewer/study/`; what came of a study is told by `evaluation.people`.
"""
