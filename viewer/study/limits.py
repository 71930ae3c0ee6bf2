"""How often somebody may come in by the public link: by address and altogether, in memory alone."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 600.0
"""Over how many seconds entries are counted."""
MOST_ADDRESSES = 10_000
"""Addresses that are counted apart; those who came in longest ago are forgotten first."""


class EntryLimit:
    """Counts who comes in; no address is kept but as a salted hash, for `WINDOW_S` seconds.

    Addresses of IPv6 are counted by their first 64 bits, of which one connection has all.

    ``each``: new annotators that one address may bring in `WINDOW_S` seconds. ``together``: those that all addresses
    may bring. ``clock``: seconds, never going back.

    >>> limit = EntryLimit(each=1, together=10)
    >>> limit.allows("192.0.2.1"), limit.allows("192.0.2.1"), limit.allows("192.0.2.2")
    (True, False, True)
    """

    def __init__(self, each: int, together: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.each, self.together, self.clock = each, together, clock
        self._salt = secrets.token_bytes(16)
        self._all: deque[float] = deque()
        self._by_address: dict[bytes, deque[float]] = {}
        self._lock = threading.Lock()

    def allows(self, address: str) -> bool:
        """Whether one more may come in from an address now; counts them if so."""
        name = hashlib.blake2b(_network(address).encode(), key=self._salt, digest_size=16).digest()
        with self._lock:
            now = self.clock()
            own = self._by_address.pop(name, deque())
            self._by_address[name] = own
            for times in (own, self._all):
                while times and times[0] <= now - WINDOW_S:
                    times.popleft()
            while len(self._by_address) > MOST_ADDRESSES:
                del self._by_address[next(iter(self._by_address))]
            if len(own) >= self.each or len(self._all) >= self.together:
                return False
            own.append(now)
            self._all.append(now)
            return True


def _network(address: str) -> str:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if known.version == 4:
        return str(known)
    return str(known.ipv4_mapped or ipaddress.ip_network((known, 64), strict=False))
