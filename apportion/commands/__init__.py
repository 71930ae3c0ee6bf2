"""The commands: each parses its options, calls one module below, and prints.

From the ground up:

- `shared`: what commands share; `presets`: published settings by name
- `corpus`: `import` and `inspect`; `start`: from a file to first rewards; `world`: simulated dialogues; `init`: a
  configuration; `machine`: `doctor`; `models`: networks to be had, and `train_model`: one trained on what a user has;
  `llm_cache`: the file of paid replies
- `runs`: `run`, with one stage alone, and `demo`
- `probe`: one recording; `benchmark`: all methods on one corpus; `export`: a run's tables and policy
  for other programs; `view`: a run in the browser; `reactions`: what some corpora teach others
- `train_agent`: agents of simulated environments; `refine`: a Refiner of their speeches
- `groups`: the commands that are groups of these
- `score`: a reward model on a corpus; `generate` and `compare`: policies side by side; `study`: studies with people
"""
