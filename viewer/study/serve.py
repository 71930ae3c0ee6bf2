"""Serves a study: a port, what it is called by, until Ctrl-C; then says how far it is."""

from __future__ import annotations

import contextlib
import shlex
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvicorn

from apportion.study.design.folder import StudyFolder
from apportion.study.store.links import Link, served_address
from apportion.study.store.rows import DatabaseAwayError
from apportion.study.store.store import Store
from apportion.viewer.auth import Access
from apportion.viewer.connections import bounded_server
from apportion.viewer.serve import LOOPBACK, is_loopback, listening, own_names, told_to_end, written_host
from apportion.viewer.study.app import create_app
from apportion.viewer.study.serving import EntryLimit, Serving


@dataclass(frozen=True)
class Listening:
    """Where a study is served.

    - ``host``: the address or name to listen at.
    - ``port``: none takes the first free one from the viewer's on.
    - ``public_url``: what annotators call the server by, where that is a reverse proxy's address.
    - ``entries_each``, ``entries_together``: new annotators by the public link in ten minutes: of one address, and of
      all.
    """

    host: str
    port: int | None
    public_url: str | None = None
    entries_each: int = 20
    entries_together: int = 300


@dataclass(frozen=True)
class _Ready:
    """A server whose port is taken, and the address by which people call it."""

    server: uvicorn.Server
    listener: socket.socket
    address: str

    def run(self) -> None:
        """Answer until the server is told to end."""
        self.server.run(sockets=[self.listener])


def serve_study(store: Store, where: Listening, say: Callable[[str], None], links: Sequence[Link] = ()) -> None:
    """Serve a study's pages until this process is told to end; ``say`` is given each line that a person should read.

    ``links`` are annotators' links that are to be told.

    Raises InputError: the port is taken, the host is none of this machine, the public address is none.
    """
    with _ready(store, where) as ready:
        say(f"serving {store.study.path} at {ready.address}/")
        say(f"Annotators come in by {ways_in(store.study, ready.address)}. Ctrl-C ends the server.")
        for link in links:
            say(f"open {link.address(ready.address)}")
        with contextlib.suppress(KeyboardInterrupt), told_to_end():
            ready.run()
    say(ended(store))


@contextmanager
def served_beside(store: Store, entries: int) -> Iterator[str]:
    """The address at which a thread of this process serves a study, to this machine alone, for as long as wanted.

    ``entries`` is how many annotators the public link lets in.
    """
    with _ready(store, Listening(LOOPBACK, 0, None, entries, entries)) as ready:
        thread = threading.Thread(target=ready.run, name="study", daemon=True)
        thread.start()
        try:
            yield ready.address
        finally:
            ready.server.should_exit = True
            thread.join()


@contextmanager
def _ready(store: Store, where: Listening) -> Iterator[_Ready]:
    """A server that may begin; see `serve_study`."""
    public = None if where.public_url is None else served_address(where.public_url, "--public-url")
    with listening(where.host, where.port) as listener:
        taken = int(listener.getsockname()[1])
        address = public or f"http://{written_host(where.host)}:{taken}"
        names = own_names(where.host) | ({str(urlsplit(public).hostname)} if public else set())
        access = Access(frozenset(names), taken, remote=not is_loopback(where.host))
        serving = Serving(store.study, store, address, EntryLimit(where.entries_each, where.entries_together))
        server = bounded_server(
            create_app(serving, access),
            # Behind a proxy of this machine, the limit of the public link counts the addresses that it tells.
            proxy_headers=public is not None, forwarded_allow_ips="127.0.0.1,::1", timeout_graceful_shutdown=5,
            lifespan="off",  # Nothing begins or ends with the server, and a second Ctrl-C would end in a trace of it.
        )  # fmt: skip
        yield _Ready(server, listener, address)


def ways_in(study: StudyFolder, address: str) -> str:
    """How annotators come in, for who serves the study."""
    links = f"links of their own (`apportion study links {shlex.quote(str(study.path))} --address {address}`)"
    return f"{address}/public, or by {links}" if study.settings.public else links


def ended(store: Store) -> str:
    """How far a study is, in a line."""
    try:
        answers, people = len(store.answers()), store.annotators()
    except DatabaseAwayError as error:
        return f"ended. {error} Answers that were confirmed are in it."
    begun, finished = sum(one.consented for one in people), sum(one.finished for one in people)
    return f"ended with {answers:,} answers saved; of {begun:,} annotators who have begun, {finished:,} have finished."
