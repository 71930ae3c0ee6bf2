"""The local runner: the stages' shards over any `concurrent.futures.Executor`, each stage as soon as it can start."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import queue
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from time import monotonic, sleep

from apportion.foundation.errors import InputError, UnitError
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import Engine, Outcome
from apportion.pipeline.engine.plan import REPORT, Plan
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.execution.shards import MAX_SHARDS, run_units, split_units, stop_text
from apportion.pipeline.execution.worker_errors import WorkerLostError, lost_text

SHARDS_PER_WORKER = 4
LONGEST_END_S = 2.0
"""How long a broken pool's processes are waited for, to learn how the lost one ended."""
Message = tuple[str, int, int | None, str | None]
"""From a worker: stage, shard, and how many of its units have ended or what one of them says."""
Shard = tuple[str, int, list[Unit]]
"""Stage, number, units."""
_send: Callable[[Message], object] | None = None


class ClusterExecutor(Executor):
    """An executor whose workers come and go, and are lost one at a time.

    ``lost`` is what a shard's future raises whose worker was lost as often as the cluster tries again. No more shards
    are handed on than there are ``workers``: those behind one that kills its worker would be taken for what killed it.
    """

    lost: tuple[type[Exception], ...] = ()
    workers: int


@dataclass(frozen=True)
class RunResult:
    """What became of every unit of the stages that ran."""

    outcomes: tuple[Outcome, ...]

    def counts(self) -> dict[str, dict[str, int]]:
        """Units by stage and status."""
        counts: dict[str, Counter[str]] = {}
        for outcome in self.outcomes:
            counts.setdefault(outcome.stage, Counter())[outcome.status] += 1
        return {stage: dict(sorted(statuses.items())) for stage, statuses in counts.items()}

    @property
    def quarantined(self) -> tuple[Outcome, ...]:
        """Failed and blocked units."""
        return tuple(outcome for outcome in self.outcomes if outcome.status in ("failed", "blocked"))

    @property
    def stopped(self) -> str | None:
        """What a limit has left undone, in words; None where nothing was stopped."""
        return stop_text(self.outcomes)

    @property
    def same_again(self) -> bool:
        """Whether the same command goes on with what was stopped, without another limit."""
        return any(outcome.same_again for outcome in self.outcomes)


def run_stages(
    config: Config, last: Sequence[str], progress: StageProgress, executor: Executor | None = None
) -> RunResult:
    """Run the stages ``last`` and everything that they need.

    ``config``: The checked configuration. ``last``: Names of the stages wanted; what they read is made first where it
    is missing. ``progress``: Shows how far the run is. ``executor``: Where shards run; by default a pool of
    ``config.workers`` spawned processes. A shard whose worker a `ClusterExecutor` loses again and again is given up
    alone. Raises InputError: What makes going on pointless (disk full, no permission, unset key). What is finished is
    kept. Raises UnitError: A worker was killed, and again when the run went on with one worker, and no report comes
    that would tell it; or the cluster is gone.
    """
    engine = open_engine(config)
    engine.store.clear_scratch()
    names = engine.plan.leading_to(last)
    engine.begin(names)
    with engine.keys_forgotten():
        if executor is not None:
            return _drive(config, engine, names, executor, progress)
        return _run_here(config, engine, names, progress)


def _run_here(config: Config, engine: Engine, names: list[str], progress: StageProgress) -> RunResult:
    """In a pool of this machine; where a worker is killed once more, alone."""
    try:
        return _drive_in_pool(config, engine, names, progress)
    except WorkerLostError as lost:
        progress.warn(f"{lost_text(lost, engine, config)} The run goes on by itself, this once, with one worker.")
    engine.store.clear_scratch()
    alone = config.with_run(workers=1)
    try:
        return _drive_in_pool(alone, engine, names, progress)
    except WorkerLostError as lost:
        given_up = _given_up(lost, engine, alone, names)
    engine.store.clear_scratch()
    rest = [name for name in names if name not in {outcome.stage for outcome in given_up}]
    try:
        return RunResult((*given_up, *_drive_in_pool(alone, engine, rest, progress).outcomes))
    except WorkerLostError as lost:
        raise UnitError(_again(lost, engine, alone)) from lost


def _given_up(lost: WorkerLostError, engine: Engine, config: Config, names: Sequence[str]) -> list[Outcome]:
    """What was lost twice as failures, so that the report shows the rest; UnitError where none comes of it."""
    cause = _again(lost, engine, config)
    if REPORT not in names or not all(engine.plan.stages[name].fails_alone for name in lost.stages):
        raise UnitError(cause) from lost
    return [
        engine.give_up(name, unit, cause)
        for name in lost.stages
        for unit in engine.plan.units[name]
        if unit not in engine.finished(name)
    ]


def _again(lost: WorkerLostError, engine: Engine, config: Config) -> str:
    return f"{lost_text(lost, engine, config)} Run the same command again to go on."


def _drive_in_pool(config: Config, engine: Engine, names: list[str], progress: StageProgress) -> RunResult:
    with _process_pool(config, progress) as pool:
        return _drive(config, engine, names, pool, progress)


def _drive(config: Config, engine: Engine, names: list[str], executor: Executor, progress: StageProgress) -> RunResult:
    plan, shards = engine.plan, min(MAX_SHARDS, config.workers * SHARDS_PER_WORKER)
    outcomes: list[Outcome] = []
    waiting = list(names)
    before = {name: waited_for(plan, name, names) for name in names}
    backlog: deque[Shard] = deque()
    running: dict[Future[list[Outcome]], Shard] = {}
    cluster = executor if isinstance(executor, ClusterExecutor) else None
    left: Counter[str] = Counter()
    finished: set[str] = set()
    try:
        while waiting or backlog or running:
            for name in [name for name in waiting if finished >= before[name]]:
                waiting.remove(name)
                parts = split_units(config, name, shards)
                if not parts:
                    finished.add(name)
                    continue
                progress.begin(name, sum(map(len, parts)))
                backlog += [(name, index, units) for index, units in enumerate(parts)]
                left[name] = len(parts)
            while backlog and (cluster is None or len(running) < max(1, cluster.workers)):
                name, index, units = backlog.popleft()
                running[_begun(executor, config, engine, (name, index, units), shards)] = (name, index, units)
            # An empty stage may have freed the next one without anything running.
            if not running:
                continue
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name, index, units = running.pop(future)
                outcomes += _usable(_ended(future, engine, name, units, cluster), names)
                progress.reached(name, index, len(units))
                left[name] -= 1
                if left[name] == 0:
                    finished.add(name)
                    of_stage = [outcome for outcome in outcomes if outcome.stage == name]
                    progress.end(name, _summary(of_stage))
                    if stop_text(of_stage) is not None:
                        waiting = [other for other in waiting if not _builds_on(plan, other, name)]
    except BrokenProcessPool as error:
        raise WorkerLostError([name for name in names if left[name]]) from error
    finally:
        for future in running:
            future.cancel()
    return RunResult(tuple(outcomes))


def _ended(
    future: Future[list[Outcome]], engine: Engine, stage: str, units: Sequence[Unit], cluster: ClusterExecutor | None
) -> list[Outcome]:
    """What became of a shard's units; what a cluster has lost for good is given up, so that the others go on."""
    lost = cluster.lost if cluster else ()
    try:
        return future.result()
    except CancelledError:
        raise UnitError(
            f"run.executor = {engine.config.run.executor!r}: the scheduler that handed out the work is gone. What is "
            "finished is kept. Start it again if it is yours, and run the same command again to go on."
        ) from None
    except lost as error:
        cause = (
            f"the worker was lost each time that it was tried ({error}). A worker's log says why; where memory ran "
            "out, start workers with more. Run the same command again to go on."
        )
        done = engine.finished(stage)
        return [Outcome(stage, unit, "done") if unit in done else engine.give_up(stage, unit, cause) for unit in units]


def _begun(executor: Executor, config: Config, engine: Engine, given: Shard, shards: int) -> Future[list[Outcome]]:
    """Give one shard away; one of finished work is gone through here, for which no worker has to read the corpus.

    Raises BrokenProcessPool also where the pool breaks while it starts one more process.
    """
    stage, shard, units = given
    if all(engine.artifact(stage, unit) is not None for unit in units):
        gone_through: Future[list[Outcome]] = Future()
        gone_through.set_result(run_units(config, stage, shard, shards, lambda *told: None))
        return gone_through
    try:
        return executor.submit(run_shard_in_worker, config, stage, shard, shards)
    except (OSError, ValueError) as error:
        # The thread that clears a broken pool away has closed the pipes that the new process was about to be given.
        if getattr(executor, "_broken", False):
            raise BrokenProcessPool(str(error)) from error
        raise


def waited_for(plan: Plan, name: str, names: Sequence[str]) -> set[str]:
    """Those of the stages ``names`` that have to end before ``name`` can start.

    What a stage could read and no unit of it wants (judgements, where nothing is blended) does not hold it up; one that
    tells failures waits for all others, those included that it does not read.
    """
    others = set(names) - {name}
    return others if "quarantine" in plan.stages[name].facts else others & set(plan.upstream(name))


def _usable(outcomes: list[Outcome], names: list[str]) -> list[Outcome]:
    """The outcomes; raises InputError where an input cannot be used and no report comes that would tell it."""
    for outcome in outcomes:
        if outcome.unusable and REPORT not in names:
            raise InputError(outcome.cause)
    return outcomes


def _builds_on(plan: Plan, name: str, stopped: str) -> bool:
    """Whether a stage would have to be done again once the stopped one goes on; those of its own command just gather
    what is there."""
    return stopped in plan.upstream(name) and plan.stages.group(name) != plan.stages.group(stopped)


def _summary(outcomes: list[Outcome]) -> str:
    counts = Counter(outcome.status for outcome in outcomes)
    return ", ".join(
        f"{counts[status]} {status}" for status in ("done", "reused", "failed", "blocked", "stopped") if counts[status]
    )


def run_shard_in_worker(config: Config, stage: str, shard: int, shards: int) -> list[Outcome]:
    """Run one shard and send what its long units say, and how many ended, to the process that shows progress."""
    numbers = count(1)

    def send(ended: int | None, text: str | None) -> None:
        if _send is not None:
            _send((stage, shard, ended, text))

    def tell(done: int, total: int, text: str) -> None:
        send(None, f"{done}/{total} {text}")

    return run_units(config, stage, shard, shards, tell, lambda: send(next(numbers), None))


@contextmanager
def _process_pool(config: Config, progress: StageProgress) -> Iterator[ProcessPoolExecutor]:
    # Spawned, not forked: torch's and OpenMP's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    messages: Queue[Message] = context.Queue()
    pool = ProcessPoolExecutor(
        config.workers, mp_context=context, initializer=_start_worker, initargs=(messages, config.run.threads)
    )
    with listening(messages, progress):
        try:
            yield pool
        except BaseException as error:
            processes = list((pool._processes or {}).values())
            if isinstance(error, WorkerLostError):
                error.code = _code_of_the_lost(processes)
            # A failing run (a full disk, Ctrl-C) must not wait for units that nobody wants any more.
            for process in processes:
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()


def _code_of_the_lost(processes: Sequence[BaseProcess]) -> int | None:
    """The exit code of the worker that broke the pool; the pool itself ends the others by SIGTERM."""
    until = monotonic() + LONGEST_END_S
    # The pool's own thread waits for them, too: whoever comes second learns the code once the other has noted it.
    while any(process.exitcode is None for process in processes) and monotonic() < until:
        sleep(0.01)
    codes = [process.exitcode for process in processes if process.exitcode not in (None, 0, -signal.SIGTERM)]
    return codes[0] if codes else None


@contextmanager
def listening(messages: Queue[Message] | queue.Queue[Message], progress: StageProgress) -> Iterator[None]:
    """Show what workers say."""
    stopped = threading.Event()

    def listen() -> None:
        while not stopped.is_set():
            try:
                stage, shard, ended, text = messages.get(timeout=0.2)
            except (queue.Empty, EOFError, OSError):
                progress.pulse()
                continue
            if ended is not None:
                progress.reached(stage, shard, ended)
            if text is not None:
                progress.note(stage, text)

    thread = threading.Thread(target=listen, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(timeout=2)


def _start_worker(messages: Queue[Message], threads: int) -> None:
    send_by(messages.put)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent, which stops the workers itself.
    os.environ.update(worker_environment(threads))
    _die_with_parent()


def send_by(send: Callable[[Message], object]) -> None:
    """From now on this process' shards tell by ``send`` how far they are."""
    global _send
    _send = send


def worker_environment(threads: int) -> dict[str, str]:
    """What a worker's environment has to say before it loads a library that computes."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    # Every length of text is a shape of its own: what is compiled for a thousand of them fills 300 MiB, saving nothing.
    capacity = os.environ.get("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    return {**dict.fromkeys(names, str(threads)), "ONEDNN_PRIMITIVE_CACHE_CAPACITY": capacity}


def _die_with_parent() -> None:
    """A worker whose parent was killed would go on writing into a store that a new run believes to be its own."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # 1 = PR_SET_PDEATHSIG
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, name="parent-watch", daemon=True).start()
