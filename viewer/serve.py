"""Serves a run: a free port, the address with its token, the browser, until Ctrl-C."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.viewer.app import create_app
from apportion.viewer.auth import Access
from apportion.viewer.connections import bounded_server
from apportion.viewer.data.run import ServedRun, serve_run
from apportion.viewer.data.run_location import CompanionFiles, RunPlace
from apportion.viewer.data.session_ref import slugs_by_session

PORT = 8617
TRIED = 20
"""Ports from `PORT` on that are tried where none was asked for."""
LOOPBACK = "127.0.0.1"


def serve(
    place: RunPlace,
    host: str,
    port: int | None,
    browser: bool,
    say: Callable[[str], None],
    around: CompanionFiles | None = None,
    session: str | None = None,
) -> None:
    """Serve the pages of a run until this process is told to end.

    - ``host``: the address or name to listen at.
    - ``port``: none takes the first free one from `PORT` on.
    - ``browser``: whether to open one.
    - ``say``: is given each line that a person should read.
    - ``around``: what is looked at together with the run.
    - ``session``: the session whose page is opened first; the list of all where it is left out.

    Raises InputError: the port is taken, the host is none of this machine, the run cannot be indexed or has no such
    session.
    """
    with listening(host, port) as listener:
        say(f"reading {place.folder} (its index is made once, beside the run)")
        run = serve_run(place)
        taken = int(listener.getsockname()[1])
        access = Access(frozenset(own_names(host)), taken, remote=not is_loopback(host))
        address = f"http://{written_host(host)}:{taken}/{_first_page(run, session, around)}?token={access.token}"
        say(f"open {address}")
        say("Ctrl-C ends the viewer.")
        server = bounded_server(create_app(run, access, around, say), timeout_graceful_shutdown=2)
        with contextlib.suppress(KeyboardInterrupt), told_to_end(), _opened(address, browser):
            try:
                server.run(sockets=[listener])
            finally:
                run.close()


def _first_page(run: ServedRun, session: str | None, around: CompanionFiles | None) -> str:
    """Where a browser begins: the list, the page of a session, or labelling where that is what it is opened for."""
    if session is None:
        return "label" if around is not None and around.teaching else ""
    slugs = slugs_by_session(run.index)
    if session not in slugs:
        hint = did_you_mean(session, sorted(slugs), "leave --session out for the list of all.")
        raise InputError(f"--session {session!r}: {run.place.folder} has no such session; {hint}")
    return f"session/{slugs[session]}"


@contextmanager
def listening(host: str, port: int | None) -> Iterator[socket.socket]:
    """A socket that listens at ``host`` and ``port``; see `serve`."""
    wanted = range(PORT, PORT + TRIED) if port is None else (port,)
    for number in wanted:
        try:
            family, _, _, _, place = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
            listener = socket.socket(family)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen(128)
        except socket.gaierror as error:
            raise InputError(
                f"--host {host}: no address of that name ({error.strerror}). Leave it out for {LOOPBACK}."
            ) from None
        except PermissionError:
            raise InputError(f"--port {number}: this user may not take it. Choose one above 1023.") from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InputError(f"--host {host}: {error.strerror}. It has to be an address of this machine.") from None
            continue
        with listener:
            yield listener
        return
    raise InputError(
        f"port {port} is taken. Choose another with --port, or leave --port out for a free one."
        if port is not None
        else f"ports {wanted[0]} to {wanted[-1]} are taken. Choose another with --port."
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def own_names(host: str) -> set[str]:
    """What a Host header may call this server, in small letters."""
    names = {host.lower(), "localhost", LOOPBACK, "::1"}
    return names if is_loopback(host) else names | {socket.gethostname().lower(), socket.getfqdn().lower()}


def written_host(host: str) -> str:
    """A host in an address that can be opened: one that listens everywhere is called by its name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return socket.gethostname()
    return f"[{host}]" if address.version == 6 else host


@contextmanager
def told_to_end() -> Iterator[None]:
    """SIGTERM ends as Ctrl-C does, so that nothing is left behind."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _opened(address: str, browser: bool) -> Iterator[None]:
    """Open a browser at ``address`` by a file that only this user can read: arguments of processes all can read."""
    if not browser:
        yield
        return
    handle, name = tempfile.mkstemp(prefix="apportion-view-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">')

    def open_it() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(Path(name).as_uri())

    threading.Timer(0.5, open_it).start()
    try:
        yield
    finally:
        Path(name).unlink(missing_ok=True)
