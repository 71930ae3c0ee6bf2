"""A server that does what strangers' servers have done, one fault at a time, and what a run makes of it.

`server` writes any bytes to a socket, `faults` is the list of what it does, `trial` runs `apportion run --only
decompose` against one fault and tells the outcome.
"""
