"""A study's answers to and from other programs: tables, Amazon Mechanical Turk, Label Studio, labels of turns.

From the ground up: `form` (answers by letter, as forms elsewhere have them), `external_answers` (what came from
elsewhere, as a file beside the study), `answer_table` (all answers as CSV, Parquet or JSON Lines, there and back),
`mturk` and `label_studio` (the same of other programs), `turn_labels` (ratings of turns as a corpus has them),
`exchange` (a file in, a file out).
"""
