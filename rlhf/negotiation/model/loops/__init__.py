"""What is compiled (numba): `compiled` (and where that is kept), `curves` (tanh and the logistic
function), `gates` (a step of a GRU)."""
