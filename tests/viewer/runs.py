"""A small run for the viewer, made by the real code, and a server of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from pipeline.config import load_config
from pipeline.running.local import run_locally
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus
from viewer.access import Access
from viewer.app import create_app
from viewer.reading.place import open_place
from viewer.reading.run import ServedRun, serve_run
from viewer.serve import listening

TEXT = 'corpus = "corpus"\noutput = "run"\n[decompose]\nmethods = ["uniform", "sentiment"]\n'


def write_viewed_run(folder: Path, sessions: int = 12) -> Path:
    """A run of text-only dialogues (folder ``run``, beside its ``corpus``) up to its rewards."""
    write_small_corpus(folder / "corpus", sessions=sessions)
    run_locally(load_config(config(folder, TEXT)), ["rewards"], quiet=True)
    return folder / "run"


@dataclass(frozen=True)
class Served:
    """A run that is served on this machine: ``address`` ends in a slash and has no token."""

    run: ServedRun
    access: Access
    address: str


@contextmanager
def served(folder: Path, corpus: Path | None = None) -> Iterator[Served]:
    """Serve the run in ``folder`` on a free port, as `apportion view` does."""
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        run = serve_run(open_place(folder, corpus))
        access = Access(frozenset({"127.0.0.1", "localhost"}), port)
        server = uvicorn.Server(uvicorn.Config(create_app(run, access), log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Served(run, access, f"http://127.0.0.1:{port}/")
        server.should_exit = True
        thread.join()
        run.close()
