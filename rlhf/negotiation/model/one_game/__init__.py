"""One game a seed, compiled (numba): what REINFORCE plays between two of its updates.

A batched product of ten seeds reads the weights of all of them for every act, also where a seed's game is long over,
and waits for memory. Here every seed goes through its own game by itself, its weights near the processor: `products`
(vectors with matrices), `arrays` (what is kept of a game), `acting` (reading, and choosing an act), `rules`,
`playing` (a whole game), `taking` (the selection), `learning` (the gradient and its step), `player` (all of it as a
player that learns). The network is that of `model.network`, which tests compare with.
"""
