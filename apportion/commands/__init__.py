"""The commands: each parses its options, calls one module below, and prints.

From the ground up:

- `parts`: what commands share; `presets`: published settings by name
- `corpus`: `import` and `inspect`; `simulated`: simulated dialogues; `init`: a configuration; `machine`: `doctor`;
  `models`: networks to be had, and `train_model`: one trained on what a user has; `llm_cache`: the file of paid replies
- `runs`: `run` and `demo`; `stages`: one command a stage
- `probe`: one recording; `benchmark`: all methods on one corpus; `export`: a run's tables and policy
  for other programs; `viewing`: a run in the browser; `learning`: what some corpora teach others
- `train_agent`: agents of simulated environments; `refining`: a Refiner of their speeches
- `score`: a reward model on a corpus; `generate` and `compare`: policies side by side; `studying`: studies with people
"""
