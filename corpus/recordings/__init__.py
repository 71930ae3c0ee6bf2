"""Recordings as a person would meet them, for whoever imports, looks or measures.

From the ground up: `addresses` (which URLs are read, and their bytes), `fetched` (their copies in a bounded folder),
`container` (a file opened safely), `mirrored` (a corpus at a URL as a folder of this machine), `presentation` (its
length, its tracks, what of them sounds), `channel` (the words for a part of them), `feature_map` (which columns of
others' measurements are features), `people` (one line a person: what there is of them), `told` (those of a corpus, as
its import left them).
"""
