"""The local runner: any executor, any number of workers, the same artifacts; a run that cannot go on says so."""

import io
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from apportion.foundation.errors import InputError, UnitError
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import load_config
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.execution.local import run_locally
from apportion.pipeline.execution.runner import _code_of_the_lost, run_stages, waited_for
from apportion.pipeline.execution.worker_errors import WorkerLostError, lost_text
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus
from tests.pipeline.stages.planned import plan

TEXT = 'corpus = "corpus"\noutput = "{}"\n[decompose]\nmethod = "sentiment"\ncompare = ["uniform"]\n'
ALIGNED = """corpus = "corpus"
output = "run"
[decompose]
method = "uniform"
[train_reward]
epochs = 1
head_hidden_size = 8
[evaluate]
bootstrap = 100
[align]
steps = 500
batch_size = 4
mini_batch_size = 4
max_new_tokens = 4
samples = 1
[align.tiny]
hidden = 32
layers = 1
warmup_steps = 1
"""


def artifacts(folder):
    return {p.relative_to(folder): p.read_bytes() for p in (folder / "store").rglob("*.parquet")}


def test_worker_counts_and_executors_change_nothing(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    for name, workers in (("one", 1), ("three", 3)):
        chosen = load_config(config(tmp_path, TEXT.format(name))).with_run(workers=workers)
        run_locally(chosen, ["rewards"], quiet=True)
    threads = load_config(config(tmp_path, TEXT.format("threads")))
    with ThreadPoolExecutor(2) as executor, StageProgress(quiet=True) as progress:
        result = run_stages(threads, ["rewards"], progress, executor)
    assert result.counts() == {"split": {"done": 1}, "judge": {"done": 12}, "rewards": {"done": 2}}
    expected = artifacts(tmp_path / "one")
    assert len(expected) == 15
    assert artifacts(tmp_path / "three") == expected
    assert artifacts(tmp_path / "threads") == expected
    with StageProgress(quiet=True) as progress:
        again = run_stages(
            threads, ["rewards"], progress, Executor()
        )  # It takes nothing: what is there needs no worker.
    assert again.counts() == {"split": {"reused": 1}, "judge": {"reused": 12}, "rewards": {"reused": 2}}


def test_what_stops_one_unit_for_good_stops_the_run(tmp_path, monkeypatch):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    chosen = load_config(config(tmp_path, TEXT.format("run")))

    def fails(*args):
        raise InputError("no space left")

    monkeypatch.setattr("apportion.pipeline.execution.runner.run_units", fails)
    with (
        ThreadPoolExecutor(1) as executor,
        StageProgress(quiet=True) as progress,
        pytest.raises(InputError, match="no space left"),
    ):
        run_stages(chosen, ["rewards"], progress, executor)


def test_workers_tell_how_many_units_have_ended_before_their_shard_has(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.pipeline.engine.progress.PLAIN_INTERVAL_S", 0.0)
    write_small_corpus(tmp_path / "corpus", sessions=30)
    chosen = load_config(config(tmp_path, TEXT.format("run"))).with_run(workers=1)
    stream = io.StringIO()
    with StageProgress(stream=stream) as progress:
        run_stages(chosen, ["judge"], progress)
    counts = [int(found) for found in re.findall(r"^judge: (\d+) of 60$", stream.getvalue(), re.MULTILINE)]
    assert counts == sorted(counts) and any(count % 15 for count in counts), stream.getvalue()


def test_what_tells_failures_waits_for_all_that_can_fail():
    made = plan(("uniform",))
    names = ["split", "embed", "judge", "report"]
    assert waited_for(made, "report", names) == {"split", "embed", "judge"}
    assert waited_for(made, "judge", names) == set()
    assert waited_for(made, "rewards", [*names, "rewards"]) == {"split", "judge"}


@contextmanager
def killing_workers(most: int, when: Callable[[int], bool] = lambda killed: True) -> Iterator[None]:
    """Kill up to ``most`` of this process' workers as the kernel does, each as soon as it is there.

    ``when`` says whether it is time, once so many have been killed.
    """
    killed: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        while len(killed) < most and not ended.wait(0.02):
            for worker in multiprocessing.active_children():
                if len(killed) < most and when(len(killed)) and worker.pid not in killed and worker.is_alive():
                    os.kill(worker.pid, signal.SIGKILL)
                    killed.append(worker.pid)
                    break

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_killed_worker_is_told_and_the_run_goes_on_by_itself(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    chosen = load_config(config(tmp_path, TEXT.format("run"))).with_run(workers=2)
    stream = io.StringIO()
    with StageProgress(stream=stream) as progress, killing_workers(1):
        result = run_stages(chosen, ["rewards"], progress)
    assert {stage: sum(counts.values()) for stage, counts in result.counts().items()}["judge"] == 12
    assert not result.quarantined
    told = stream.getvalue()
    # Those of the stage judge may have ended, too, by the time that the kill is seen.
    assert re.search(
        r"warning: a worker process was killed \(SIGKILL\) in the stage split( or judge)?, with \d+ unit", told
    )
    assert "where memory runs out. Lower run.workers (now 2). What is finished is kept. The run goes on" in told


def test_a_worker_that_is_killed_again_ends_the_run(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    chosen = load_config(config(tmp_path, TEXT.format("run"))).with_run(workers=1)
    with (
        StageProgress(quiet=True) as progress,
        killing_workers(2),
        pytest.raises(UnitError, match=r"was killed \(SIGKILL\) .* more memory. .* Run the same command again"),
    ):
        run_stages(chosen, ["rewards"], progress)


@pytest.mark.parametrize("broken", [True, False])
def test_a_pool_that_breaks_while_it_starts_a_process_has_lost_a_worker(tmp_path, broken):
    class Breaking(Executor):
        _broken = broken

        def submit(self, *work):
            raise OSError("handle is closed")

    write_small_corpus(tmp_path / "corpus", sessions=6)
    chosen = load_config(config(tmp_path, TEXT.format("run")))
    lost = pytest.raises(WorkerLostError if broken else OSError)
    with Breaking() as executor, StageProgress(quiet=True) as progress, lost:
        run_stages(chosen, ["rewards"], progress, executor)


def test_how_a_worker_ended_is_known_though_another_thread_notes_it_first():
    class Reaped:
        asked = 0

        @property
        def exitcode(self):
            self.asked += 1
            return None if self.asked < 3 else -signal.SIGKILL

    assert _code_of_the_lost([Reaped()]) == -signal.SIGKILL


@pytest.mark.slow
def test_an_alignment_that_is_killed_twice_costs_no_report(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=12)
    chosen = load_config(config(tmp_path, ALIGNED)).with_run(workers=1)
    stream = io.StringIO()
    in_align = lambda killed: stream.getvalue().count("evaluate: 1") > killed  # noqa: E731
    with StageProgress(stream=stream) as progress, killing_workers(2, in_align):
        result = run_stages(chosen, ["report"], progress)
    (lost,) = result.quarantined
    assert (lost.stage, lost.status) == ("align", "failed")
    assert "was killed (SIGKILL) in the stage align, with 1 unit unfinished" in str(lost.cause)
    (made,) = open_engine(chosen).finished("report").values()
    assert "No aligned policy: " in made.text("report.html") and "was killed (SIGKILL)" in made.text("report.html")


def test_what_a_killed_stage_can_do_with_less_of_is_named(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    chosen = load_config(config(tmp_path, TEXT.format("run"))).with_run(workers=1)
    lost = WorkerLostError(["align"])
    lost.code = -9
    told = lost_text(lost, open_engine(chosen), chosen)
    assert "was killed (SIGKILL) in the stage align" in told and "Lower align.mini_batch_size" in told


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (None, r"exit code unknown\) .* with run.workers = 1 the work is done without workers"),
        (1, r"exit code 1\) .* below `if __name__ == \"__main__\":`"),
        (7, r"exit code 7\) .* stands above"),
        (-11, r"ended by a signal \(SIGSEGV, exit code -11\) .* stands above"),
    ],
)
def test_memory_is_the_cause_of_a_kill_alone(tmp_path, code, words):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    chosen = load_config(config(tmp_path, TEXT.format("run"))).with_run(workers=2)
    lost = WorkerLostError(["align"])
    lost.code = code
    told = lost_text(lost, open_engine(chosen), chosen)
    assert re.search(words, told) and "memory" not in told and "What is finished is kept." in told
