"""Who spoke: labels are candidates, and what else is known of them decides which are people.

From the ground up: `names` (one spelling of a name), `markup` (styling that is no part of what was said), `labels`
(what was said under which label), `speakers_file` (which label is whose, by a person), `settled` (who spoke, as a
table), `doubt` (labels that nobody can be sure of), `evidence` (what is known of each label) and `settle` (the turns).
"""
