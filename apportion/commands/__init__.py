"""The commands: each parses its options, calls one module below, and prints.

From the ground up:

- `in_order`: commands listed in the order of their use
- `options`: groups of options, and what each is called; `presets`: published settings by name; `aligning`: what goes
  before keys of [align]; `places`: where a file is written; `progress` and `meter`: how far it is
- `corpus`: `import` and `inspect`; `simulate`: simulated dialogues; `init`: a configuration; `machine`: `doctor`;
  `models`: networks to be had, and `train_model`: one trained on what a user has; `llm_cache`: the file of paid replies
- `running`: what every command has that runs stages; `runs`: `run` and `demo`; `stages`: one command a stage
- `probe`: one recording; `benchmark`: all methods on one corpus; `export`: a run's tables for other programs
- `score`: a reward model on a corpus; `generate` and `compare`: policies side by side
"""
