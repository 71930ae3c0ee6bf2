"""A reward model that programs ask over HTTP: `apportion policy serve`.

From the ground up: `metrics` (what is counted), `refusals` (what a request may be), `chat_markup` (a chat template's
text as messages), `dialogues` (what is asked, as episodes), `batches` (requests that wait are read together), `app`
(paths), `serve` (port, token, until Ctrl-C).
"""
