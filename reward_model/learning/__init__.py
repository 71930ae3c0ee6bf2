"""How r_theta learns.

From the ground up: `objective` and `turn_mse` (what it learns), `dataset`, `training_state` (what goes on after a
kill), `loop` (the one training loop), `data_parallel`, `training`, `distillation` (a decomposition's rewards into a
model).
"""
