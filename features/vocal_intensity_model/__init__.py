"""How strongly somebody speaks, told by a small model that is trained on labelled speech of one's own (RAVDESS).

From the ground up: `model` (from a voice's figures to a probability), `train` (a folder of clips to a model, and how
well it does on actors that it has not heard).
"""
