"""Dask's workers as the runner's executor: on this machine, at a scheduler that runs, or as jobs of Slurm."""

from __future__ import annotations

import logging
import platform
import queue
import shutil
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import check_installed
from apportion.foundation.truncate import listed
from apportion.pipeline.config import Config
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.execution.cluster_worker import Expected, complaints, corpus_files, identity, run_told
from apportion.pipeline.execution.runner import ClusterExecutor, Message, listening, worker_environment
from apportion.pipeline.execution.worker_errors import TO_LOWER
from apportion.pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from dask_jobqueue import SLURMCluster
    from distributed import Client

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
    topic, messages = f"apportion-{uuid.uuid4().hex}", queue.Queue[Message]()
    with dask.config.set(OURS), KINDS.get(name, _at_scheduler)(config, progress) as (client, workers):
        executor = DaskExecutor(client, topic, progress, check_workers(client, config))
        client.subscribe_topic(topic, lambda event: messages.put(tuple(event[1])))
        client.subscribe_topic("all", executor.told)
        with listening(messages, progress):
            try:
                yield config.with_run(workers=workers), executor
            finally:
                client.unsubscribe_topic("all")


@contextmanager
def _here(config: Config, progress: StageProgress) -> Iterator[tuple[Client, int]]:
    from distributed import Client, LocalCluster

    environment = worker_environment(config.run.threads)
    # Without a limit of Dask's: it would halt a training at 80 % of its worker's share of the memory.
    with (
        LocalCluster(
            n_workers=config.workers, threads_per_worker=1, memory_limit=0, dashboard_address=None, env=environment,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client, config.workers


@contextmanager
def _at_scheduler(config: Config, progress: StageProgress) -> Iterator[tuple[Client, int]]:
    from distributed import Client

    name = config.run.executor
    address = name.replace("dask://", "tcp://")
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    try:
        client = Client(address, timeout=ANSWER_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"run.executor = {name!r}: no Dask scheduler answers there in {ANSWER_S} s ({type(error).__name__}). Start "
            f"one with `dask scheduler --host {host} --port {port}`, or take 'dask' or 'local'."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=ANSWER_S)
        except TimeoutError:
            raise InputError(
                f"run.executor = {name!r}: the scheduler has no workers. Start some with `dask worker {address} "
                "--nthreads 1 --nworkers N`, or take 'dask' or 'local'."
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
    with slurm_cluster(config) as cluster, Client(cluster, set_as_default=False) as client:
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)  # One that has ended is followed by another.
        progress.begin("slurm", workers, "workers")
        client.wait_for_workers(1)
        progress.end("slurm", "the first job has begun")
        yield client, workers


def slurm_cluster(config: Config) -> SLURMCluster:
    """A scheduler here whose workers are jobs of Slurm, as ``[run.slurm]`` says; ``job_script()`` is what is handed in.

    Raises InputError: A setting that makes no job.
    """
    from dask_jobqueue import SLURMCluster

    slurm = config.run.slurm
    environment = {**worker_environment(config.run.threads), "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    try:
        return SLURMCluster(
            cores=slurm.workers, processes=slurm.workers, memory=slurm.memory, walltime=slurm.walltime,
            queue=slurm.partition, account=slurm.account, interface=slurm.interface,
            job_extra_directives=list(slurm.directives),
            job_script_prologue=[*slurm.prologue, *(f"export {name}={value}" for name, value in environment.items())],
            worker_extra_args=["--resources", f'"{slurm.resources}"'] if slurm.resources else [],
            scheduler_options={"dashboard": False, "dashboard_address": ":0"},
        )  # fmt: skip
    except ValueError as error:
        raise InputError(f"run.slurm: {error}. Correct that setting.") from None


KINDS: dict[str, Callable[[Config, StageProgress], AbstractContextManager[tuple[Client, int]]]]
KINDS = {"dask": _here, "slurm": _slurm}
"""By name; anything else is a scheduler's address."""


def check_workers(client: Client, config: Config) -> set[str]:
    """Ask every worker whether it can be used, before it is given work.

    Returns the hosts of the workers that share a machine: this one, where it has some. Raises InputError, by the
    workers' names, where one cannot be used.
    """
    probe = config.output / f".probe-{uuid.uuid4().hex}"
    probe.mkdir(parents=True)
    children = config.train_reward.processes > 1
    expected = Expected(
        identity(), probe, config.corpus, corpus_files(config.corpus), config.run.threads, children
    )
    try:
        answers = client.run(complaints, expected, on_error="return")
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    names = {address: about["name"] for address, about in client.scheduler_info(n_workers=-1)["workers"].items()}
    workers_of: dict[str, list[str]] = {}
    machines: dict[str, set[str]] = {}
    for address, answer in sorted(answers.items()):
        if isinstance(answer, BaseException):
            told = [f"cannot run apportion there ({type(answer).__name__}: {answer}): install the same as here"]
        else:
            machine, told = answer
            machines.setdefault(machine, set()).add(str(urlsplit(address).hostname))
        for text in told:
            workers_of.setdefault(text, []).append(str(names.get(address, address)))
    if workers_of:
        lines = "\n".join(f"  worker {listed(workers)}: {text}." for text, workers in workers_of.items())
        raise InputError(f"run.executor = {config.run.executor!r}: these workers cannot be used.\n{lines}")
    return machines.get(platform.node(), next(iter(machines.values())))


class DaskExecutor(ClusterExecutor):
    """Hands shards to the workers of a Dask client.

    ``topic``: Where they say how far they are. ``asking``: Hosts whose workers ask language models, as long as there
    are some: the reply cache is a file that one machine's processes share.
    """

    def __init__(self, client: Client, topic: str, progress: StageProgress, asking: set[str]) -> None:
        from distributed import KilledWorker

        self.lost = (KilledWorker,)
        self._inner = client.get_executor()
        self._topic, self._progress, self._asking = topic, progress, asking
        workers = client.scheduler_info(n_workers=-1)["workers"]
        self._names = {address: str(about["name"]) for address, about in workers.items()}
        self._declared: dict[str, float] = {}
        for name, amount in (item for about in workers.values() for item in about["resources"].items()):
            self._declared[name] = max(amount, self._declared.get(name, 0))

    @property
    def workers(self) -> int:
        """How many there are at this moment."""
        return len(self._names)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand on a shard (configuration, stage, number, how many there are)."""
        config, stage, number, _ = args
        wanted = resources_of(config, stage).items()
        resources = {name: min(amount, self._declared[name]) for name, amount in wanted if name in self._declared}
        place: dict[str, Any] = {"resources": resources} if resources else {}
        if STAGES[stage].asks and not number:  # Here all that asks is in the first shard.
            near = [address for address in self._names if urlsplit(address).hostname in self._asking]
            place |= {"workers": near, "allow_other_workers": True} if near else {}
        key = f"{stage}-{number}-{uuid.uuid4().hex}"
        future: Future[Any] = self._inner.submit(run_told, identity(), self._topic, fn, *args, key=key, **place)
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


def resources_of(config: Config, stage: str) -> dict[str, int]:
    """What a unit of a stage takes of Dask's resources GPU and MEMORY, where workers declare them."""
    if stage not in TO_LOWER:
        return {}
    training = config.align.placement if stage == "align" else config.train_reward
    processes = (config.align if stage == "align" else config.train_reward).processes
    return {"MEMORY": 1} if training.device == "cpu" else {"MEMORY": 1, "GPU": processes}
