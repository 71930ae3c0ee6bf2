"""What can go wrong between a request and its reply; no message ever holds a key or a whole prompt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apportion.foundation.errors import ApportionError, InputError, StoppedError, UnitError


class LLMError(ApportionError):
    """Base of every error of this package; its text is fit to be shown to a person."""


class SetupError(LLMError, InputError):
    """No request can succeed before a person changes something: a key, consent, a file, the address."""


class ConsentError(SetupError):
    """Nobody has agreed that text is sent to this host."""


class RouteError(SetupError):
    """The environment names a proxy on the way to this host, and nobody has agreed to it."""


class DamagedCacheError(SetupError):
    """The file of replies is damaged, and what it holds has to be saved into a new one first."""


class InBatchError(SetupError):
    """The request is in a batch that is not finished: asked directly, it would be paid twice."""


class LostBatchError(SetupError):
    """A batch that was handed in is not known to its server any more."""


class BudgetError(LLMError, StoppedError):
    """The next request could pass the budget; it was not sent."""


class ServerUnavailableError(LLMError, StoppedError):
    """The server has taken nothing for so long, or is gone, that the run is stopped."""

    same_again = True


class LedgerAwayError(LLMError, StoppedError):
    """The server that keeps the ledger cannot be reached."""

    same_again = True


class RequestError(LLMError, UnitError):
    """This one request has failed after all retries; others may succeed."""


class ContextLengthError(RequestError):
    """The request does not fit into the model's context; the same request never will."""


class MissingReplyError(RequestError):
    """The file of recorded replies has none for this request."""


@contextmanager
def prefixed(prefix: str, kind: type[LLMError] = SetupError) -> Iterator[None]:
    """Put ``prefix`` before the message of every error of ``kind`` raised inside; it stays the error that it is."""
    try:
        yield
    except kind as error:
        error.args = (f"{prefix}: {error}",)
        raise
