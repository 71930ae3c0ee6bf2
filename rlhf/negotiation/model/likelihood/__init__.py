"""Eq. 1 and its gradient, compiled (numba), a seed after the other: what is trained on dialogues.

Batched products of ten seeds go through memory for every one of some hundred steps; here a seed's weights, and all that
is made of its batch, stay near the processor, and no padding is read. `arrays` (weights, a batch by its rows,
gradients), `matrices` (what is done to rows besides multiplying them), `steps` (a GRU over rows and back), `acts` (what
is said), `taken` (what is taken at the end), `gradient` (all of it together), `descent` (the step along it). Matrices
are multiplied by BLAS. The network is that of `model.network`; tests compare with autograd.
"""
