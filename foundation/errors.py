"""The errors a person sees: what was wrong, where, what is allowed, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class ApportionError(Exception):
    """Base of every error that is shown to a person without a traceback."""


class InputError(ApportionError):
    """Usage, configuration, or an input that cannot be read at all (exit code 2)."""


class UnitError(ApportionError):
    """One session or one unit of work failed; it is quarantined and the rest goes on (exit code 1).

    ``evidence`` is what the failure rests on where a message would cut it short: the raw replies of a model.
    """

    def __init__(self, message: str = "", evidence: str | None = None) -> None:
        super().__init__(message)
        self.evidence = evidence


class StoppedError(ApportionError):
    """A limit that a person has set ends the work; what is finished is kept (exit code 1).

    ``same_again`` says that the same command goes on later, without another limit.
    """

    same_again: ClassVar[bool] = False


@contextmanager
def errors_called(name: str) -> Iterator[None]:
    """Begin the errors that a person sees with ``name``, where it is not empty."""
    try:
        yield
    except ApportionError as error:
        if name:
            error.args = (f"{name}: {error}",)
        raise
