"""A server that speaks the OpenAI protocol.

From the ground up: `body` (an answer's bytes, no more than are allowed), `route` (straight, or through a proxy that is
named), `consent` (text leaves this machine only where that was agreed to), `retry` (which failures are tried again, and
when), `pacing` (how fast a server is asked), `dialect` (which options a server takes), `secrets` (what no message
repeats), `completion` (the reply in an answer), `prompt_probabilities` (how probable what was put to a model is),
`embeddings` (vectors), `wire` (connections that asyncio serves), `transport` (the HTTP library's, on those), `post`
(one try), `unreached` (why there is no connection), `connection` (a server with consent and key, and its failures in
words), `traffic` (what one failure means for all requests), `server` (all of them together).
"""
