"""Connections to a server: how many, and for how long each may keep it waiting.

A client that opens connections and sends half a request in each would otherwise hold every file that this process may
open, and nobody else would be let in.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""Seconds from a connection, or from the answer before, to the end of a request's headers."""
BODY_S = 60.0
"""Seconds from there to the end of its body."""
STALLED_S = 120.0
"""Seconds in which a client takes nothing of an answer."""
MOST_CONNECTIONS = 512
BACKLOG = 32
"""Connections that wait to be accepted, and that asyncio accepts at once, before any of them is looked at."""
TICK_S = 1.0

Phase = tuple[str, int, int]
WAITS_S = {"headers": HEADERS_S, "body": BODY_S, "stalled": STALLED_S}


def most_connections() -> int:
    """How many are kept: half of the files that this process may open, the rest is for what is served."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(1, min(MOST_CONNECTIONS, files // 2))


class BoundedProtocol(H11Protocol):
    """A connection that is closed once it keeps the server waiting, or a new one needs its place.

    Of those that wait for a request the oldest gives way; where all are being answered, the new one does.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._taken = 0
        self._since = self._begun = self.loop.time()
        self._phase = self.phase
        self._watch = self.loop.call_later(TICK_S, self._tick)
        if len(self.connections) > most_connections():
            waiting = [one for one in self.connections if isinstance(one, BoundedProtocol) and one.phase[0] in WAITS_S]
            min(waiting, key=lambda one: (one is self, one._begun)).give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone, or was sent away."""
        self._watch.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """The client has taken what was sent."""
        self._taken += 1
        super().resume_writing()

    def give_up(self) -> None:
        """Close it now, whatever was not sent."""
        self.connections.discard(self)
        self.transport.abort()

    @property
    def phase(self) -> Phase:
        """What is waited for, and of which request."""
        if self.cycle is None or self.cycle.response_complete:
            return "headers", id(self.cycle), 0
        if self.cycle.more_body:
            return "body", id(self.cycle), 0
        return "stalled" if self.flow.write_paused else "answering", id(self.cycle), self._taken

    def _tick(self) -> None:
        now = self.loop.time()
        if self.phase != self._phase:
            self._phase, self._since = self.phase, now
        if now - self._since > WAITS_S.get(self._phase[0], float("inf")):
            self.give_up()
        else:
            self._watch = self.loop.call_later(TICK_S, self._tick)


def bounded_server(app: ASGIApp, **options: Any) -> uvicorn.Server:
    """A server of ``app`` whose connections are bounded; ``options`` are further ones of ``uvicorn.Config``."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=BoundedProtocol,
            backlog=BACKLOG,
            log_level="warning",
            access_log=False,
            server_header=False,
            **options,
        )
    )
