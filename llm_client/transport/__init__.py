"""A server that speaks the OpenAI protocol.

From the ground up: `body` (an answer's bytes, no more than are allowed), `proxy` (straight, or through a proxy that is
named), `consent` (text leaves this machine only where that was agreed to), `retry` (which failures are tried again, and
when), `rate_limiting` (how fast a server is asked), `server_quirks` (which options a server takes), `completion` (the
reply in an answer), `prompt_logprobs` (how probable what was put to a model is), `embeddings` (vectors),
`attempt` (one try), `connection_errors` (why there is no connection, without secrets), `connection` (a server with
consent and key, and its failures in words), `circuit_breaker` (what one failure means for all requests), `server` (all
of them together).
"""
