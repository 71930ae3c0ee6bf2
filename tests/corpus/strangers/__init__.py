"""What strangers bring in, as our own generators write it: a file a field of faults, `row` the form of all rows."""
