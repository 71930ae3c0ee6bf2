"""A server that speaks the OpenAI protocol.

From the ground up: `route` (straight, or through a proxy that is named), `consent` (text leaves this machine only where
that was agreed to), `retry` (which failures are tried again, and when), `pace` (how fast a server wants to be asked),
`limits` (requests and tokens a minute, at that pace), `dialect` (which options a server takes), `body` (an answer's
bytes, no more than are allowed), `completion` (the reply in them), `unreached` (why there is no connection),
`connection` (the SDK, and its failures in words), `traffic` (what one failure means for all requests), `server` (all of
them together).
"""
