"""Studies that are served for tests: in this process, or as a command that can be killed."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from apportion.study.design.folder import SETTINGS, StudyFolder
from apportion.study.store.store import Store
from apportion.viewer.auth import Access
from apportion.viewer.serve import listening
from apportion.viewer.study.app import create_app
from apportion.viewer.study.serving import EntryLimit, Serving
from tests.behaviour.command import environment
from tests.study.studies import study_in
from tests.viewer.study.asking import Caller


@dataclass(frozen=True)
class ServedStudy:
    """A study that is served on this machine: ``address`` ends in a slash; ``tokens`` are of its annotators by id."""

    study: StudyFolder
    store: Store
    address: str
    tokens: dict[str, str]

    def caller(self, annotator: str = "a001") -> Caller:
        """An annotator who has followed their link."""
        caller = Caller(self.address)
        caller.get(f"a/{self.tokens[annotator]}")
        return caller

    def begun(self, annotator: str = "a001") -> Caller:
        """An annotator who has agreed and read the instructions."""
        caller = self.caller(annotator)
        caller.press(caller.press(caller.get("")))
        return caller


def study_made(folder: Path, criteria: str = "geli", *, public: bool = False, public_limit: int = 100, **wanted):
    """A study in ``folder``, with a public link or without one."""
    made = study_in(folder, criteria, **wanted)
    if not public:
        return made
    text = (folder / SETTINGS).read_text()
    text = re.sub("^public = false$", "public = true", text, flags=re.MULTILINE)
    text = re.sub(r"^public_limit = \d+$", f"public_limit = {public_limit}", text, flags=re.MULTILINE)
    (folder / SETTINGS).write_text(text)
    return StudyFolder.open(folder)


@contextmanager
def study_served(
    folder: Path, criteria: str = "geli", *, annotators: int = 3, each: int = 20, database=None, **wanted
) -> Iterator[ServedStudy]:
    """Make a study in ``folder`` and serve it on a free port."""
    made = study_made(folder, criteria, **wanted)
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        store = Store.open(database, made)
        tokens = {link.annotator: link.token for link in store.add_links(annotators)}
        address = f"http://127.0.0.1:{port}"
        app = create_app(
            Serving(made, store, address, EntryLimit(each, 300)), Access(frozenset({"127.0.0.1", "localhost"}), port)
        )
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield ServedStudy(made, store, f"{address}/", tokens)
        finally:
            server.should_exit = True
            thread.join()
            store.close()


def start_command(folder: Path, port: int, *more: str) -> subprocess.Popen[str]:
    """`apportion study serve` in a process of its own, once it listens at ``port``."""
    command = [sys.executable, "-m", "apportion", "study", "serve", str(folder), "--port", str(port), *more]
    running = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder.parent
    )
    assert running.stdout is not None
    said = []
    for line in running.stdout:
        said.append(line)
        if line.startswith("serving "):
            return running
    raise AssertionError(f"it did not begin: {''.join(said)}")
