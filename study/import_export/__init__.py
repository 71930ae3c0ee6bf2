"""A study's answers to and from other programs: tables, Amazon Mechanical Turk, Label Studio, labels of turns.

From the ground up: `form` (answers by letter, as forms elsewhere have them), `external_answers` (what came from
elsewhere, as a file beside the study), `table` and `table_answers` (all answers as CSV, Parquet or JSON Lines, there
and back), `mturk_batch` and `mturk_results`, `label_studio_tasks` and `label_studio_answers` (the same of other
programs), `turn_labels` (ratings of turns as a corpus has them), `import_answers` and `export_tasks` (a file in, a file
out).
"""
