"""What a stage is, and how its units are done once each; which stages there are is not known here.

From the ground up: `store` (finished work, addressed by its key), `stage` (a declared step, and what it takes and
gives), `units` (which units a stage has and which each needs), `stage_selection` (which stages are left out), `inputs`
(what a unit reads, hashed), `load_corpus` (the corpus, checked), `engine` (one unit: its key, its call, its failure),
`provenance` (versions, quarantine, who is filmed), `training_curves` (all trainings' curves as one table), `progress`
(how far a run is, for a person).
"""
