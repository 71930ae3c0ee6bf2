"""Studies with people: which of several policies' responses they find better, by criteria, without knowing whose it is.

From the ground up: `design` (a study as data: criteria, items, letters, what is drawn for whom), `rows` (answers,
wherever they were given), `store` (answers in a database, and what comes next for whom), `simulated_annotators`
(annotators whose taste is known), `all_answers` (all of them), `judge` (a language model in a person's place), `report`
(what came of it), `import_export` (to and from other programs), `power` (how many items and annotators tell what
difference), `planning` (the same as a person asks it), `demo` (a study that shows itself). Pages are in
`viewer/study/`, the statistics in `apportion.evaluation.human_agreement`.
"""
