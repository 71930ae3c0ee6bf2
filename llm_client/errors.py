"""What can go wrong between a request and its reply; no message ever holds a key or a whole prompt."""

from __future__ import annotations


class LLMError(Exception):
    """Base of every error of this package; its text is fit to be shown to a person."""


class SetupError(LLMError):
    """No request can succeed before a person changes something: a key, consent, a file, the address."""


class BudgetError(LLMError):
    """The next request could pass the budget; it was not sent."""


class RequestError(LLMError):
    """This one request has failed after all retries; others may succeed."""


class ContextLengthError(RequestError):
    """The request does not fit into the model's context; the same request never will."""


class MissingReplyError(RequestError):
    """The file of recorded replies has none for this request."""
