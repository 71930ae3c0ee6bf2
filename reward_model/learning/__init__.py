"""How r_theta learns.

From the ground up: `objective` (what it learns), `dataset`, `loop` (the one training loop, and what goes on after a
kill), `data_parallel`, `training`, `domain` (what its turns were like), `distillation` (a decomposition's rewards into
a model).
"""
