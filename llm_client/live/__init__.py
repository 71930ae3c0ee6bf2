"""A server that speaks the OpenAI protocol.

From the ground up: `route` (straight, or through a proxy that is named), `consent` (text leaves this machine only where
that was agreed to), `retry` (which failures are tried again, and when), `limits` (requests and tokens a minute),
`dialect` (which options a server takes), `body` (an answer's bytes, no more than are allowed), `completion` (the reply
in them), `connection` (the SDK, and its failures in words), `server` (all of them together).
"""
