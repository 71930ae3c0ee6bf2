"""What a run leaves: its folder, and files made of it for other programs.

From the ground up: `run_folder` (a finished run, opened; how files are written into a folder of a person's), `models`
(which made it, under which licence), `model_agreement` (what the evaluation says of a reward
model), `publish` (the run folder from the store), `artifacts` (what was
made from what, and what is left over), `annotation_files` (ELAN and Praat),
`dataset` (Hugging Face `datasets`), `trainer_rows` (other people's trainers).
"""
