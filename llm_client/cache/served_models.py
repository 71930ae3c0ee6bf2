"""Whether one name has come to mean another model: what a server says that it answered with."""

from __future__ import annotations

import logging

from apportion.foundation.truncate import listed
from apportion.llm_client.cache.cache import ReplyCache

_log = logging.getLogger(__name__)


class ServedModels:
    """Warns where replies of two models are kept under one name; once for each name.

    That a provider answers a general name with a dated one is no change; that the dated one becomes another is.
    """

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache
        self._seen: set[tuple[str, str]] = set()
        self._told: set[str] = set()

    def note(self, asked: str, served: str) -> None:
        """A reply to a request for the model ``asked`` came from ``served``, and is kept; empty says nothing."""
        if not served or asked in self._told or (asked, served) in self._seen:
            return
        self._seen.add((asked, served))
        counts = self._cache.served(asked)
        if len(counts) < 2:
            return
        self._told.add(asked)
        _log.warning(
            "the model that answers to the name %r has changed: the reply cache holds %s. Judgements of two models do "
            "not compare: ask for one of them by its own name (a dated one, where the provider has it), or begin "
            "another reply cache",
            asked,
            listed([f"{count:,} of {name!r}" for name, count in counts.items()]),
        )
