"""What is compiled (numba), and what compiled games and the compiled likelihood share.

`compiled` (and where that is kept), `weights` (as arrays), `vectors`, `curves` (tanh and the logistic function) and
`gates` (a step of a GRU).
"""
