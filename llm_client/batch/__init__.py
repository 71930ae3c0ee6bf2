"""Requests through the Batch API, at half the price.

From the ground up: `ledger` (which request is in which batch), `service` (the server's calls),
`batches` (handed in, waited for, collected).
"""
