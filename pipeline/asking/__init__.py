"""The language model's part of a run, beside the answers themselves.

From the ground up: `pricing` (which requests, answered and left, and their price), `preview` (word for word, before any
is sent), `batching` (through the Batch API), `recording` (what judgements rest on as a file), `spending` (what was
paid).
"""
