"""The language model's part of a run, before and after its stages.

From the ground up: `spend` (what a run paid), `pricing` (what it would take), `rollouts` (what
playing sessions on would), `partner` (the same for the partner of
an alignment), `preview` (what would be sent), `batching` (handed in as a batch), `recording` (the replies as a file of
their own).
"""
