"""What one process alone does at a time, of all hosts that share a server's ledger.

A thread renews the claims of a process. Those of one that is gone are free `LEASE_S` and a grace after its last sign,
by the server's clock.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from apportion.foundation.files import FileLeases, Leases
from apportion.llm_client.cache import leases
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.errors import LLMError


class ServerLeases:
    """Names as claims in a ledger that hosts share."""

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache
        self._owner = cache.transact(leases.add_owner)
        self._here: set[str] = set()
        self._ended = threading.Event()
        threading.Thread(target=self._renew, name="leases", daemon=True).start()

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """See `Leases`."""
        claim = None
        if name not in self._here:
            claim = self._cache.transact(lambda connection: leases.claim(connection, name, self._owner))
        if claim is None or claim.state != "ours":
            yield False
            return
        self._here.add(name)
        try:
            yield True
        finally:
            self._here.discard(name)
            with suppress(LLMError):  # A server that is away frees it by and by.
                self._cache.transact(lambda connection: leases.end_claim(connection, name, self._owner))

    def holder(self, name: str) -> str | None:
        """See `Leases`."""
        return self._cache.read(lambda connection: leases.claimant(connection, name))

    def close(self) -> None:
        """Hold nothing any more."""
        self._ended.set()
        with suppress(LLMError):
            self._cache.transact(lambda connection: leases.remove_owner(connection, self._owner))
        self._cache.close()

    def _renew(self) -> None:
        while not self._ended.wait(leases.RENEW_S):
            with suppress(LLMError):
                self._cache.transact(lambda connection: leases.renew(connection, self._owner))


@lru_cache(maxsize=1)
def on_server(url: str) -> ServerLeases:
    """The leases of this process in the ledger ``url``."""
    made = ServerLeases(ReplyCache(url))
    atexit.register(made.close)
    return made


def leases_of(ledger: Path | str, folder: Path) -> Leases:
    """The leases of all who share ``ledger`` where it is a server's, else of those who share ``folder``."""
    return on_server(ledger) if isinstance(ledger, str) else FileLeases(folder)
