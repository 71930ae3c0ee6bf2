"""What costs us: kinds of target turns with rewards of their own, found on one half of the sessions, held to the other.

From the ground up: `turns` (what is looked at, the two halves, and a kind against the rest of the same conversations),
`clusters` (turns that say alike things, at every coarseness), `result` (what was found, and as Markdown), `slices`
(what one is called, and its figures) and `find` (all of it).
"""
