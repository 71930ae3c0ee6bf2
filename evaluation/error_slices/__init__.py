"""What costs us: kinds of target turns with rewards of their own, found on one half of the sessions, held to the other.

From the ground up: `turns` (what is looked at, and the two halves), `contrast` (a kind against the rest of the same
conversations), `clusters` (turns that say alike things, at every coarseness), `keywords` (what a kind is called),
`result` (what was found, and as Markdown), `slices` (the figures of one) and `find` (all of it).
"""
