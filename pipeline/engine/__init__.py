"""What a stage is, and how its units are done once each; which stages there are is not known here.

From the ground up: `store` (finished work, addressed by its key; what a unit reads, hashed), `remote_store` (the same
in a bucket), `stage` (a declared step, and what it takes and gives), `plan` (which units a stage has, which each needs,
what is left out), `load_corpus` (the corpus, checked), `progress` (how far a run is), `engine` (one unit: its key, its
call, its failure), `provenance` (versions, quarantine, who is filmed), `training_curves` (all trainings' curves as one
table).
"""
