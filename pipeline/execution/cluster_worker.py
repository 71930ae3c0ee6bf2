"""What a worker of a cluster does: tell whether it can be used, run a shard and say how far it is."""

from __future__ import annotations

import multiprocessing
import os
import platform
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apportion
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest, file_digest
from apportion.pipeline.engine.engine import Outcome
from apportion.pipeline.execution.runner import Message, send_by

if TYPE_CHECKING:
    from distributed import Worker


@dataclass(frozen=True)
class Expected:
    """What every worker has to have, as it is where the run was started.

    ``probe`` is a folder beside the run's results, ``files`` are the corpus folder's, name and size; ``children`` says
    whether a training starts processes of its own.
    """

    identity: str
    probe: Path
    corpus: Path
    files: tuple[tuple[str, int], ...]
    threads: int
    children: bool


@cache
def identity() -> str:
    """Which Python and which code this is; a checkout has the same version for months."""
    root = Path(apportion.__file__).parent
    # Links of a checkout are followed. How the demo was made is not in the wheel.
    files = (Path(at) / name for at, _, names in os.walk(root, followlinks=True) for name in names)
    code = {
        path.relative_to(root).as_posix(): file_digest(path)
        for path in files
        if path.suffix == ".py" and path.relative_to(root).parts[0] != "demo"
    }
    try:
        called = version("apportion")
    except PackageNotFoundError:
        called = "not installed"
    return f"Python {'.'.join(platform.python_version_tuple()[:2])}, apportion {called} (code {digest(code)[:8]})"


def corpus_files(corpus: Path) -> tuple[tuple[str, int], ...]:
    """Name and size of each file of the corpus folder; nothing where there is none."""
    found = corpus.iterdir() if corpus.is_dir() else ()
    return tuple(sorted((path.name, path.stat().st_size) for path in found if path.is_file()))


def complaints(expected: Expected, dask_worker: Worker) -> tuple[str, list[str]]:
    """The worker's machine, and why it cannot be used; Dask fills in ``dask_worker``."""
    told = []
    if identity() != expected.identity:
        told.append(f"has {identity()}, here is {expected.identity}: install the same there")
    if dask_worker.state.nthreads != 1:
        told.append(f"has {dask_worker.state.nthreads} threads, which would share one random state: --nthreads 1")
    if (threads := os.environ.get("OMP_NUM_THREADS")) != str(expected.threads):
        told.append(f"has OMP_NUM_THREADS = {threads}: set it to {expected.threads} (run.threads), or bits differ")
    if expected.children and multiprocessing.current_process().daemon:
        told.append("may start no processes (train_reward.processes): set DASK_DISTRIBUTED__WORKER__DAEMON=False")
    try:
        (expected.probe / uuid.uuid4().hex).touch()
    except OSError as error:
        told.append(f"cannot write into {expected.probe.parent} ({error.strerror}): share `output` at this path")
    if corpus_files(expected.corpus) != expected.files:
        told.append(f"does not see the same files in {expected.corpus}: share the corpus at this path")
    return platform.node(), told


class ShardCancelled(BaseException):
    """Nobody waits for the shard any more; no error of a unit, which would be recorded."""


@dataclass(frozen=True)
class Told:
    """Messages of one task, as events of a topic at the scheduler; they end a task that was cancelled."""

    worker: Worker
    task: str
    topic: str

    def put(self, message: Message, /) -> None:
        """Send one; raises ShardCancelled."""
        state = self.worker.state.tasks.get(self.task)
        if state is not None and state.state == "cancelled":
            raise ShardCancelled(self.task)
        self.worker.log_event(self.topic, message)


def run_told(
    ours: str, topic: str, work: Callable[..., list[Outcome]], config: Any, *shard: Any
) -> list[Outcome]:
    """Run a shard in a worker; raises InputError where one that came later has another version."""
    from distributed import get_worker

    worker = get_worker()
    if identity() != ours:
        raise InputError(f"worker {worker.name}: has {identity()}, here is {ours}. Install the same there.")
    send_by(Told(worker, str(worker.get_current_task()), topic))
    return work(config, *shard)
