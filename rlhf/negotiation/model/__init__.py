"""The model of all seeds.

`recurrent` and `products` (with gradients), `network`, `player`, `optimizer` (steps of descent by autograd). Compiled,
with `loops`, are `one_game` (games and REINFORCE, one game a seed) and `likelihood` (Eq. 1).
"""
