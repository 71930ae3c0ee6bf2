"""Dask's workers as the runner's executor: on this machine, at a scheduler that runs, or as jobs of Slurm."""

from __future__ import annotations

import logging
import os
import platform
import queue
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import apportion
from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.files import digest, file_digest
from apportion.foundation.optional_packages import check_installed
from apportion.foundation.truncate import listed
from apportion.pipeline.config import Config
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.execution.runner import ClusterExecutor, Message, listening, send_by, worker_environment
from apportion.pipeline.execution.worker_errors import TO_LOWER
from apportion.pipeline.shared_place import check_bucket
from apportion.pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from dask_jobqueue import SLURMCluster
    from distributed import Client, Worker

CHECK_S = 60
"""How long workers may take to say whether they can be used."""
ANSWER_S = 5
"""How long a scheduler may take to answer, and to have a worker."""
OURS = {
    "distributed.scheduler.allowed-failures": 1,
    "distributed.worker.daemon": False,
    "distributed.worker.profile.enabled": False,
}
"""Of clusters of our own: a shard is tried twice, as locally; a worker may start the processes of a training."""


@contextmanager
def opened(config: Config, progress: StageProgress) -> Iterator[tuple[Config, ClusterExecutor | None]]:
    """What ``run.executor`` names, and the configuration with as many workers as it has; no executor for ``local``.

    Raises InputError: A package is missing, no scheduler or worker answers, Slurm is not here; a worker has another
    version or more than one thread, or does not see corpus and run folder.
    """
    name = config.run.executor
    if name == "local":
        yield config, None
        return
    check_installed(("distributed", "dask_jobqueue"), "dask", f"run.executor = {name!r}")
    import dask

    # What `auto` is here enters a key, which all machines have to agree on.
    config = config.model_copy(update={"align": config.align.placed})
    kind = {"dask": _here, "slurm": _slurm}.get(name, _at_scheduler)
    topic, messages = f"apportion-{uuid.uuid4().hex}", queue.Queue[Message]()
    with dask.config.set(OURS), kind(config, progress) as (client, workers), listening(messages, progress):
        check_workers(client, config)
        executor = DaskExecutor(client, topic, progress)
        client.subscribe_topic(topic, lambda event: messages.put(event[1]))
        client.subscribe_topic("all", executor.told)
        try:
            yield config.with_run(workers=workers), executor
        finally:
            client.unsubscribe_topic("all")


@contextmanager
def _here(config: Config, progress: StageProgress) -> Iterator[tuple[Client, int]]:
    from distributed import Client, LocalCluster

    # Without a limit of Dask's: it would halt a training at 80 % of its worker's share of the memory.
    kind = {"threads_per_worker": 1, "memory_limit": 0, "env": worker_environment(config.run.threads)}
    # A scheduler calls it critical that workers still talk to a client which Ctrl-C has ended.
    quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL + 1}
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Workers inherit it: Ctrl-C is the run's, which ends them.
    try:
        cluster = LocalCluster(n_workers=config.workers, **kind, **quiet)
    finally:
        signal.signal(signal.SIGINT, heard)
    with cluster, Client(cluster) as client:
        yield client, config.workers


@contextmanager
def _at_scheduler(config: Config, progress: StageProgress) -> Iterator[tuple[Client, int]]:
    from distributed import Client

    place = urlsplit(config.run.executor)
    told = f"run.executor = {config.run.executor!r}:"
    try:
        client = Client(f"tcp://{place.netloc}", timeout=ANSWER_S)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{told} no Dask scheduler answers there in {ANSWER_S} s ({type(error).__name__}). Start one with `dask "
            f"scheduler --host {place.hostname} --port {place.port}`, or take 'dask' or 'local'."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=ANSWER_S)
        except TimeoutError:
            raise InputError(
                f"{told} the scheduler has no workers. Start some with `dask worker tcp://{place.netloc} --nthreads 1 "
                "--nworkers N`, or take 'dask' or 'local'."
            ) from None
        yield client, len(client.scheduler_info(n_workers=-1)["workers"])


@contextmanager
def _slurm(config: Config, progress: StageProgress) -> Iterator[tuple[Client, int]]:
    from distributed import Client

    if shutil.which("sbatch") is None:
        raise InputError(
            "run.executor = 'slurm': no `sbatch` here. Start the run where Slurm takes jobs, or take 'dask' or 'local'."
        )
    jobs, workers = config.run.slurm.jobs, config.run.slurm.jobs * config.run.slurm.workers
    with slurm_cluster(config) as cluster, Client(cluster) as client:
        _ask_slurm(cluster.job_script())
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)  # One that has ended is followed by another.
        progress.begin("slurm", workers, "workers")
        client.wait_for_workers(1)
        progress.end("slurm", "the first job has begun")
        yield client, workers


def _ask_slurm(script: str) -> None:
    """Raise InputError where Slurm would refuse the job: Dask would only log that, and wait."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        done = subprocess.run(["sbatch", "--test-only", file.name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"run.slurm: sbatch refuses the job: {done.stderr.strip()[:500]}. Correct that setting.")


def slurm_cluster(config: Config) -> SLURMCluster:
    """A scheduler here whose workers are the jobs of ``[run.slurm]``; raises InputError where none can be made."""
    from dask_jobqueue import SLURMCluster

    slurm = config.run.slurm
    resources = ["--resources", f'"{slurm.resources}"'] if slurm.resources else []
    environment = {**worker_environment(config.run.threads), "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    try:
        return SLURMCluster(
            cores=slurm.workers, processes=slurm.workers, memory=slurm.memory, walltime=slurm.walltime,
            queue=slurm.partition, account=slurm.account, interface=slurm.interface,
            job_extra_directives=list(slurm.directives),
            job_script_prologue=[*slurm.prologue, *(f"export {name}={value}" for name, value in environment.items())],
            # The last one counts: as here, a training is not to be halted at 80 % of its worker's share.
            worker_extra_args=["--memory-limit", "0", *resources],
            scheduler_options={"dashboard": False, "dashboard_address": ":0"},
        )  # fmt: skip
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"run.slurm: {error}. Correct that setting.") from None


@cache
def identity() -> str:
    """Which Python and which code this is; a checkout has the same version for months."""
    root = Path(apportion.__file__).parent
    # Links of a checkout are followed. How the demo was made is not in the wheel.
    files = (Path(at) / name for at, _, names in os.walk(root, followlinks=True) for name in names)
    named = {path.relative_to(root).as_posix(): path for path in files if path.suffix == ".py"}
    code = digest({name: file_digest(path) for name, path in named.items() if not name.startswith("demo/")})
    python = ".".join(platform.python_version_tuple()[:2])
    return f"Python {python}, apportion {version('apportion')} (code {code[:8]})"


def complaints(
    ours: str, probe: Path, corpus: Path, files: list[str], threads: int, store: str | None, dask_worker: Worker
) -> list[str]:
    """Why a worker cannot be used: other code than ``ours``, folders that it does not see; asked in the worker."""
    told = []
    if identity() != ours:
        told.append(f"has {identity()}, here is {ours}: install the same there")
    if dask_worker.state.nthreads != 1:
        told.append(f"has {dask_worker.state.nthreads} threads, which would share one random state: --nthreads 1")
    if (given := os.environ.get("OMP_NUM_THREADS")) != str(threads):
        told.append(f"has OMP_NUM_THREADS = {given}: set it to {threads} (run.threads), or bits differ")
    try:
        if store is None:
            (probe / uuid.uuid4().hex).touch()
        else:  # Of the run folder it has a copy of its own.
            probe.parent.mkdir(parents=True, exist_ok=True)
            check_bucket(store)
    except ApportionError as error:
        told.append(f"cannot use the store: {error.args[0].rstrip('.')}")
    except OSError as error:
        told.append(f"cannot write into {probe.parent} ({error.strerror}): share `output` at this path")
    if not corpus.is_dir() or sorted(path.name for path in corpus.iterdir()) != files:
        told.append(f"does not see the same files in {corpus}: share the corpus at this path")
    return told


def check_workers(client: Client, config: Config) -> None:
    """Ask every worker whether it can be used, before it is given work; raises InputError, by the workers' names."""
    probe = config.output / f".probe-{uuid.uuid4().hex}"
    probe.mkdir(parents=True)
    folders = (probe, config.corpus, sorted(path.name for path in config.corpus.iterdir()))
    try:
        given = (identity(), *folders, config.run.threads, config.run.store)
        answers = client.run(complaints, *given, on_error="return", callback_timeout=CHECK_S)
    except TimeoutError:
        raise InputError(
            f"run.executor = {config.run.executor!r}: a worker of {listed(_names(client))} has not answered for "
            f"{CHECK_S} s. End it, or start it anew."
        ) from None
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    workers = client.scheduler_info(n_workers=-1)["workers"]
    named: dict[str, list[str]] = {}
    for address, answer in sorted(answers.items()):
        lacking = [f"cannot run this apportion ({answer}): install the same as here"]
        for text in lacking if isinstance(answer, BaseException) else answer:
            named.setdefault(text, []).append(str(workers.get(address, {}).get("name", address)))
    if named:
        lines = "\n".join(f"  worker {listed(names)}: {text}." for text, names in named.items())
        raise InputError(f"run.executor = {config.run.executor!r}: these workers cannot be used.\n{lines}")


def _names(client: Client) -> list[str]:
    return [str(about["name"]) for about in client.scheduler_info(n_workers=-1)["workers"].values()]


class ShardCancelled(BaseException):
    """Nobody waits for the shard any more; no error of a unit, which would be recorded."""


def run_told(ours: str, topic: str, work: Callable[..., Any], *shard: Any) -> Any:
    """Run a shard in a worker, whose messages go to ``topic``; raises InputError where a late one has other code."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.get_current_task()
    if identity() != ours:
        raise InputError(f"worker {worker.name}: has {identity()}, here is {ours}. Install the same there.")

    def send(message: Message) -> None:
        held = worker.state.tasks.get(task)
        if held is not None and held.state == "cancelled":
            raise ShardCancelled(task)
        worker.log_event(topic, message)

    send_by(send)
    return work(*shard)


class DaskExecutor(ClusterExecutor):
    """Hands shards to the workers of a Dask client, which say by ``topic`` how far they are."""

    def __init__(self, client: Client, topic: str, progress: StageProgress) -> None:
        from distributed import KilledWorker

        self.lost = (KilledWorker,)
        self._client, self._topic, self._progress = client, topic, progress
        workers = client.scheduler_info(n_workers=-1)["workers"]
        self._names = {address: str(about["name"]) for address, about in workers.items()}
        self._declared: dict[str, float] = {}
        for name, amount in (item for about in workers.values() for item in about["resources"].items()):
            self._declared[name] = max(amount, self._declared.get(name, 0))

    @property
    def workers(self) -> int:  # type: ignore[override]
        """How many there are at this moment."""
        return len(self._names)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand on a shard (configuration, stage, number, how many there are)."""
        config, stage, number, _ = args
        wanted = resources_of(config, stage).items()
        resources = {name: min(amount, self._declared[name]) for name, amount in wanted if name in self._declared}
        place: dict[str, Any] = {"resources": resources} if resources else {}
        if STAGES[stage].asks and not number and self._names:
            # All that asks is in the first shard; the reply cache is a file that one machine's processes share.
            host = urlsplit(min(self._names)).hostname
            near = [address for address in self._names if urlsplit(address).hostname == host]
            place |= {"workers": near, "allow_other_workers": True}
        key = f"{stage}-{number}-{uuid.uuid4().hex}"
        asked = self._client.submit(run_told, identity(), self._topic, fn, *args, key=key, **place)
        future: Future[Any] = Future()
        future.add_done_callback(lambda given: asked.cancel() if given.cancelled() else None)
        asked.add_done_callback(lambda done: _hand_over(done, future))
        return future

    def told(self, event: tuple[float, Any]) -> None:
        """What the scheduler says of workers that come and go."""
        news = event[1] if isinstance(event[1], dict) else {}
        if news.get("action") == "add-worker":
            self._names.setdefault(news["worker"], news["worker"])
        elif news.get("action") == "remove-worker":
            name = self._names.pop(news["worker"], news["worker"])
            if not news["expected"]:
                left = "its shard is tried again" if self._names else "no other is left, and one is waited for"
                self._progress.warn(f"worker {name} was lost; {left}.")


def _hand_over(done: Any, future: Future[Any]) -> None:
    """Give ``future`` the outcome of Dask's; cancelled where it cannot be fetched.

    `Client.get_executor` leaves a future without an end whose scheduler goes while its result is on the way.
    """
    with suppress(Exception):
        if done.status == "error":
            future.set_exception(done.exception())
        elif done.status == "finished":
            future.set_result(done.result())
    if future.cancel():
        future.set_running_or_notify_cancel()


def resources_of(config: Config, stage: str) -> dict[str, int]:
    """What a unit of a stage takes of Dask's resources GPU and MEMORY, where workers declare them."""
    if stage not in TO_LOWER:
        return {}
    section = config.align if stage == "align" else config.train_reward
    device = config.align.placement.device if stage == "align" else config.train_reward.device
    return {"MEMORY": 1} if device == "cpu" else {"MEMORY": 1, "GPU": section.processes}
