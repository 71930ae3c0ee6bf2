"""Dask as the engine: the same bytes, clusters that cannot be used, workers that are lost."""

import asyncio
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from apportion.foundation.errors import InputError, UnitError
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.execution import cluster, runner
from apportion.pipeline.execution.cluster import (
    DaskExecutor,
    ShardCancelled,
    check_workers,
    complaints,
    identity,
    opened,
    resources_of,
    run_told,
)
from apportion.pipeline.execution.local import run_locally
from tests.behaviour.command import ROOT, config, environment, threads
from tests.behaviour.small import write_small_corpus
from tests.behaviour.test_kill import digests, little_demo
from tests.interrupts import hear_ctrl_c

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'apportion[dask]'")
TEXT = 'corpus = "corpus"\noutput = "{}"\n[decompose]\nmethod = "sentiment"\ncompare = ["uniform"]\n'


def artifacts(folder):
    return {p.relative_to(folder): p.read_bytes() for p in (folder / "store").rglob("*.parquet")}


def small(folder, name="run", executor="local", sessions=6, **run):
    if not (folder / "corpus").is_dir():
        write_small_corpus(folder / "corpus", sessions=sessions)
    return load_config(config(folder, TEXT.format(name))).with_run(executor=executor, **run)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@contextmanager
def dask(**kind):
    """A scheduler with workers; gives its address as ``run.executor`` has it."""
    kind = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp", **kind}
    with distributed.LocalCluster(dashboard_address=None, silence_logs=logging.CRITICAL, **kind) as made:
        yield made.scheduler_address.replace("tcp://", "dask://"), made


def test_a_scheduler_s_worker_makes_what_a_local_one_makes_and_tells_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.pipeline.engine.progress.PLAIN_INTERVAL_S", 0.0)
    monkeypatch.setattr("apportion.pipeline.execution.runner._process_pool", threads)
    run_locally(small(tmp_path, "local"), ["rewards"], quiet=True)
    stream = StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with dask() as (executor, _):
        summary = run_locally(small(tmp_path, "dask", executor), ["rewards"])
    assert summary.result.counts()["judge"] == {"done": 12}
    assert artifacts(tmp_path / "dask") == artifacts(tmp_path / "local") != {}
    counts = [int(found) for found in re.findall(r"^judge: (\d+) of 12", stream.getvalue(), re.MULTILINE)]
    assert counts == sorted(counts) and any(count % 3 for count in counts), stream.getvalue()
    assert not list((tmp_path / "dask").glob(".probe-*"))


def test_what_stops_a_shard_for_good_stops_the_run_by_its_own_words(tmp_path, monkeypatch):
    def fails(*args):
        raise InputError("no space left")

    monkeypatch.setattr("apportion.pipeline.execution.runner.run_units", fails)
    with dask() as (executor, _), pytest.raises(InputError, match="no space left"):
        run_locally(small(tmp_path, executor=executor), ["rewards"], quiet=True)


def test_no_scheduler_and_one_without_workers_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_S", 0.3)
    quiet = StageProgress(quiet=True)
    none = pytest.raises(InputError, match=r"127.0.0.1:9': no Dask .* `dask scheduler --host 127.0.0.1 --port 9`")
    with none, opened(small(tmp_path, executor="dask://127.0.0.1:9"), quiet):
        pass
    with dask(n_workers=0) as (executor, _):
        idle = pytest.raises(InputError, match=r"the scheduler has no workers. Start some with `dask worker tcp://127")
        with idle, opened(small(tmp_path, executor=executor), quiet):
            pass


def test_a_missing_package_names_what_installs_it(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: None)
    told = r"run.executor = 'dask' needs distributed. Install it with `pip install 'apportion\[dask\]'`"
    with pytest.raises(InputError, match=told), opened(small(tmp_path, executor="dask"), StageProgress(quiet=True)):
        pass


def test_without_slurm_there_is_no_job(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    told = pytest.raises(InputError, match=r"no `sbatch` here. Start the run where Slurm takes jobs")
    with told, opened(small(tmp_path, executor="slurm"), StageProgress(quiet=True)):
        pass


def test_the_script_that_slurm_gets(tmp_path):
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed: pip install 'apportion[dask]'")
    slurm = {
        "workers": 2, "memory": "24GB", "walltime": "02:30:00", "directives": ["--gres=gpu:1"], "partition": "gpu",
        "account": "lab",
         "resources": "GPU=1 MEMORY=1", "prologue": ["module load cuda"],
    }  # fmt: skip
    chosen = Config.model_validate({"corpus": tmp_path, "run": {"executor": "slurm", "slurm": slurm}})
    with cluster.slurm_cluster(chosen) as made:
        script = made.job_script()
    for line in ("-p gpu", "-A lab", "--cpus-per-task=2", "--mem=23G", "-t 02:30:00", "--gres=gpu:1"):
        assert f"#SBATCH {line}\n" in script, script
    assert "\nmodule load cuda\nexport OMP_NUM_THREADS=1\n" in script
    assert "\nexport DASK_DISTRIBUTED__WORKER__DAEMON=False\n" in script
    (command,) = re.findall(r"^\S+ -m distributed.cli.dask_worker .*$", script, re.MULTILINE)
    assert " --nthreads 1 " in command and " --nworkers 2 " in command and '--resources "GPU=1 MEMORY=1"' in command
    assert command.rindex("--memory-limit 0") > command.index("--memory-limit")


def test_a_job_that_slurm_cannot_be_asked_for(tmp_path):
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed: pip install 'apportion[dask]'")
    for wrong in ({"memory": "much"}, {"memory": ""}, {"interface": "nope0"}):
        chosen = Config.model_validate({"corpus": tmp_path, "run": {"slurm": wrong}})
        with pytest.raises(InputError, match=r"run.slurm: .*Correct that setting"):
            cluster.slurm_cluster(chosen)


def test_a_job_that_slurm_refuses_is_told(tmp_path, monkeypatch):
    (tmp_path / "sbatch").write_text("#!/bin/sh\necho invalid partition >&2\nexit 1\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(InputError, match=r"run.slurm: sbatch refuses the job: invalid partition"):
        cluster._ask_slurm("#!/bin/sh\n")


def test_workers_that_do_not_answer_are_told(tmp_path, monkeypatch):
    async def silent(*_):
        await asyncio.sleep(60)

    monkeypatch.setattr(cluster, "CHECK_S", 0.5)
    monkeypatch.setattr(cluster, "complaints", silent)
    told = pytest.raises(InputError, match=r"a worker of \S+ has not answered for 0.5 s. End it, or start it anew")
    with dask() as (_, made), distributed.Client(made) as client, told:
        cluster.check_workers(client, small(tmp_path))


def asked(folder, threads=1, **changes):
    """What a worker complains of, where not all is as it is here."""
    corpus = write_small_corpus(folder / "corpus", sessions=6)
    (folder / "run" / ".probe").mkdir(parents=True)
    held = {"ours": identity(), "probe": folder / "run" / ".probe", "corpus": corpus, "threads": 1, "store": None}
    held["files"] = sorted(path.name for path in corpus.iterdir())
    worker = SimpleNamespace(state=SimpleNamespace(nthreads=threads))
    return complaints(**{**held, **changes}, dask_worker=worker)


def test_a_worker_that_has_all_has_nothing_to_complain_of(tmp_path):
    assert asked(tmp_path) == []
    assert re.fullmatch(r"Python 3\.\d+, apportion \S+ \(code [0-9a-f]{8}\)", identity())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ours": "Python 3.9, apportion 0.0.1"}, r"has Python 3.*, here is Python 3.9, .*: install the same"),
        ({"probe": Path("/nowhere/run/.probe")}, r"cannot write into /nowhere/run \(No such file or directory\)"),
        ({"files": ["utterances.parquet"]}, r"does not see the same files in .*corpus: share the corpus"),
        ({"corpus": Path("/nowhere/corpus")}, "does not see the same files in /nowhere/corpus"),
    ],
)
def test_what_makes_a_worker_useless_is_told(tmp_path, changes, words):
    (told,) = asked(tmp_path, **changes)
    assert re.search(words, told)


def test_a_worker_of_several_threads_or_with_other_settings_is_useless(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    told = asked(tmp_path, threads=4)
    assert told[0] == "has 4 threads, which would share one random state: --nthreads 1"
    assert told[1].startswith("has OMP_NUM_THREADS = 8: set it to 1 (run.threads)") and len(told) == 2


class Asked:
    """Dask's future, whose end a test decides."""

    status, cancelled, value = "pending", False, None

    def add_done_callback(self, callback):
        self.callback = callback

    def end(self, status, value=None):
        self.status, self.value = status, value
        self.callback(self)

    def cancel(self):
        self.cancelled = True

    def exception(self):
        return self.value

    def result(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


class FakeClient:
    """Workers by name, and what each answers."""

    def __init__(self, answers=(), resources=()):
        self.answers = dict(answers)
        self.resources, self.submitted = dict(resources), []

    def scheduler_info(self, n_workers):
        rows = {a: {"name": a[-2:], "resources": self.resources.get(a, {})} for a in self.answers}
        return {"workers": rows}

    def run(self, function, *args, on_error, callback_timeout):
        return self.answers

    def submit(self, *work, **where):
        self.submitted.append((work, where))
        self.asked = Asked()
        return self.asked


def test_workers_that_cannot_be_used_are_told_by_name_before_there_is_work(tmp_path):
    chosen = small(tmp_path, executor="dask://h:1")
    answers = {f"tcp://h:{n}": ["has 2 threads"] for n in (11, 12)}
    answers |= {"tcp://h:13": ModuleNotFoundError("apportion"), "tcp://h:14": []}
    with pytest.raises(InputError) as refused:
        check_workers(FakeClient(answers), chosen)
    assert "worker 11, 12: has 2 threads.\n" in str(refused.value) and "worker 14" not in str(refused.value)
    assert "worker 13: cannot run this apportion (apportion): install the same" in str(refused.value)


def test_questions_are_asked_by_the_workers_of_one_machine(tmp_path):
    client = FakeClient(dict.fromkeys(("tcp://b:12", "tcp://a:11", "tcp://a:13"), ()))
    executor = DaskExecutor(client, "topic", StageProgress(quiet=True))
    for stage, shard in (("judge", 0), ("judge", 1), ("embed", 0)):
        executor.submit(len, small(tmp_path), stage, shard, 8)
    places = [where.get("workers") for _, where in client.submitted]
    assert places == [["tcp://a:11", "tcp://a:13"], None, None] and client.submitted[0][1]["allow_other_workers"]


@pytest.mark.parametrize(
    ("status", "value", "expected"),
    [
        ("finished", [1], [1]),
        ("error", OSError("disk full"), OSError),
        ("cancelled", None, CancelledError),
        ("finished", OSError("the scheduler has gone while the result was on its way"), CancelledError),
    ],
)
def test_a_shard_has_an_end_whatever_becomes_of_dask_s_future(tmp_path, status, value, expected):
    client = FakeClient({"tcp://h:11": []})
    future = DaskExecutor(client, "topic", StageProgress(quiet=True)).submit(len, small(tmp_path), "embed", 0, 8)
    client.asked.end(status, value)
    assert wait([future], timeout=0).done == {future}
    if expected == [1]:
        assert future.result() == [1]
    else:
        with pytest.raises(expected):
            future.result()


def test_a_shard_that_the_runner_cancels_is_cancelled_at_the_scheduler(tmp_path):
    client = FakeClient({"tcp://h:11": []})
    future = DaskExecutor(client, "topic", StageProgress(quiet=True)).submit(len, small(tmp_path), "embed", 0, 8)
    assert future.cancel() and client.asked.cancelled
    client.asked.end("finished", [1])  # as it may be by then
    assert future.cancelled()


def test_what_needs_a_gpu_or_memory_goes_where_workers_declare_them(tmp_path):
    chosen = small(tmp_path, executor="dask://h:1")
    trained = chosen.changed("train_reward", device="cuda", processes=4)
    assert resources_of(chosen, "judge") == {}
    assert resources_of(chosen, "train-reward") == {"MEMORY": 1}
    assert resources_of(trained, "train-reward") == {"MEMORY": 1, "GPU": 4}
    assert resources_of(trained.changed("align", policy="m", device="cuda"), "align") == {"MEMORY": 1, "GPU": 1}
    answers = {"tcp://a:11": [], "tcp://a:12": []}
    client = FakeClient(answers, {"tcp://a:11": {"GPU": 2.0}, "tcp://a:12": {"GPU": 1.0}})
    executor = DaskExecutor(client, "topic", StageProgress(quiet=True))
    executor.submit(len, trained, "train-reward", 0, 8)
    executor.submit(len, trained, "judge", 1, 8)
    assert [where.get("resources") for _, where in client.submitted] == [{"GPU": 2.0}, None]


def test_workers_that_come_and_go_are_counted_and_a_lost_one_is_told():
    stream = StringIO()
    executor = DaskExecutor(FakeClient({"tcp://h:11": []}), "topic", StageProgress(stream=stream))
    executor.told((0.0, {"action": "add-worker", "worker": "tcp://h:12"}))
    executor.told((0.0, "something else"))
    assert executor.workers == 2
    executor.told((0.0, {"action": "remove-worker", "worker": "tcp://h:11", "expected": False}))
    assert stream.getvalue() == "warning: worker 11 was lost; its shard is tried again.\n"
    executor.told((0.0, {"action": "remove-worker", "worker": "tcp://h:12", "expected": True}))
    assert executor.workers == 0 and stream.getvalue().count("\n") == 1


def test_a_late_worker_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(name="ann", get_current_task=str))
    with pytest.raises(InputError, match=r"worker ann: has Python 3.*, here is older. Install the same there."):
        run_told("older", "topic", len, None)


def test_a_shard_that_nobody_waits_for_ends_at_its_next_word(monkeypatch):
    sent = []
    task = SimpleNamespace(state="executing")
    worker = SimpleNamespace(
        state=SimpleNamespace(tasks={"k": task}),
        get_current_task=lambda: "k",
        log_event=lambda *event: sent.append(event),
    )
    monkeypatch.setattr(distributed, "get_worker", lambda: worker)
    monkeypatch.setattr(runner, "_send", None)  # put back behind the test

    def work(message):
        runner._send(message)
        task.state = "cancelled"
        runner._send(message)

    with pytest.raises(ShardCancelled):
        run_told(identity(), "topic", work, ("judge", 0, 1, None))
    assert sent == [("topic", ("judge", 0, 1, None))]


PRELOAD = """
import os, signal, time
from pathlib import Path
from apportion.pipeline.engine.engine import Engine
Engine.original = run = getattr(Engine, "original", Engine.run)
"""


@contextmanager
def by_processes(folder, monkeypatch, text):
    """A scheduler whose two workers are processes; each runs ``text`` first, with `Engine.run` as ``run``."""
    import dask as settings

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    preload = folder / "preload.py"
    preload.write_text(PRELOAD + text)
    with (
        settings.config.set({"distributed.scheduler.allowed-failures": 1}),
        dask(n_workers=2, processes=True, preload=[str(preload)], memory_limit=0) as made,
    ):
        yield made


POISON = """
def poisoned(self, stage, unit, progress):
    if stage.name == "judge" and unit.session_id == "s03":
        os.kill(os.getpid(), signal.SIGKILL)
    return run(self, stage, unit, progress)
Engine.run = poisoned
"""


@pytest.mark.slow
def test_a_shard_that_kills_its_workers_is_given_up_alone_and_told(tmp_path, monkeypatch, capsys):
    with by_processes(tmp_path, monkeypatch, POISON) as (executor, _):
        summary = run_locally(small(tmp_path, "run", executor, sessions=12), ["rewards"])
    told = capsys.readouterr().err
    assert len(re.findall(r"warning: worker \S+ was lost; (its shard is tried again|no other is left)", told)) >= 2, (
        told
    )
    lost = [outcome for outcome in summary.result.quarantined if outcome.stage == "judge"]
    # Of the 24 units a shard holds 3; two sessions' shards may hold the killing one by its two methods.
    assert 1 <= len(lost) <= 6 and "s03" in {outcome.unit.session_id for outcome in lost}
    assert all("the worker was lost each time that it was tried" in outcome.cause for outcome in lost)
    assert len([outcome for outcome in summary.result.outcomes if outcome.status == "done"]) == 27 - len(lost)
    assert summary.exit_code(allow_quarantine=False) == 1
    monkeypatch.setattr("apportion.pipeline.execution.runner._process_pool", threads)
    for name in ("run", "other"):  # Without what kills, the same command goes on to the same.
        assert not run_locally(small(tmp_path, name), ["rewards"], quiet=True).result.quarantined
    assert (tmp_path / "run" / "rewards.parquet").read_bytes() == (tmp_path / "other" / "rewards.parquet").read_bytes()


SLOW = """
def slow(self, stage, unit, progress):
    time.sleep(0.5 * (stage.name == "judge"))
    return run(self, stage, unit, progress)
Engine.run = slow
"""


def when_judged(folder: Path, count: int) -> None:
    until = time.monotonic() + 100
    while len(list((folder / "store").glob("judge/*/*"))) < count and time.monotonic() < until:
        time.sleep(0.05)


@pytest.mark.slow
def test_a_scheduler_that_ends_ends_the_run_and_another_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    chosen = small(tmp_path, "run", sessions=12)
    place = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen([*place, "--no-dashboard"], stderr=subprocess.PIPE, text=True)
    (port,) = next(found for line in scheduler.stderr if (found := re.findall(r"Scheduler at: .*:(\d+)$", line)))
    (tmp_path / "preload.py").write_text(PRELOAD + SLOW)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1"]
    worker = subprocess.Popen(
        [*command, "--no-dashboard", "--preload", str(tmp_path / "preload.py")], stderr=subprocess.DEVNULL
    )
    killer = threading.Thread(target=lambda: (when_judged(tmp_path / "run", 3), scheduler.kill()))
    killer.start()
    try:
        monkeypatch.setattr(cluster, "ANSWER_S", 60)
        with pytest.raises(UnitError, match=r"scheduler that handed out the work is gone. What is finished is kept"):
            run_locally(chosen.with_run(executor=f"dask://127.0.0.1:{port}"), ["rewards"], quiet=True)
    finally:
        killer.join()
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        scheduler.stderr.close()
    kept = list((tmp_path / "run" / "store" / "judge").glob("*/*"))
    summary = run_locally(chosen, ["rewards"], quiet=True)
    counts = summary.result.counts()["judge"]
    assert counts["reused"] == len(kept) >= 3 and counts["done"] + counts["reused"] == 24


@pytest.mark.slow
def test_ctrl_c_ends_the_run_and_its_workers(tmp_path):
    """As a terminal does: the run and all processes of its group hear it."""
    write_small_corpus(tmp_path / "corpus", sessions=300)
    path = config(tmp_path, TEXT.format("run") + "[run]\nworkers = 2\n")
    command = [sys.executable, "-m", "apportion", "run", str(path), "--until", "decompose", "--executor", "dask"]
    run = subprocess.Popen(
        command, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear_ctrl_c
    )
    while not list((tmp_path / "run" / "store").glob("judge/*/*")):
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.05)
    began = time.monotonic()
    os.killpg(run.pid, signal.SIGINT)
    told = run.communicate(timeout=60)[1]
    assert run.returncode == 130 and "Traceback" not in told, told
    assert time.monotonic() - began < 30
    with pytest.raises(ProcessLookupError):
        while time.monotonic() - began < 60:  # a worker that has lost its parent ends by itself
            os.killpg(run.pid, 0)
            time.sleep(0.2)


@pytest.mark.slow
def test_a_run_by_jobs_of_a_slurm_that_starts_them_here(tmp_path, monkeypatch):
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed: pip install 'apportion[dask]'")
    tools = tmp_path / "bin"
    tools.mkdir()
    asked = tmp_path / "job.sh"
    begins = f'#!/bin/sh\n[ "$1" = --test-only ] && exit 0\ncp "$1" {asked}\nsetsid sh {asked} >/dev/null 2>&1 &\n'
    begins += 'echo "Submitted batch job $!"\n'
    for name, text in (("sbatch", begins), ("scancel", '#!/bin/sh\nkill -- "-$1"\n')):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    chosen = small(tmp_path, "run", "slurm").changed("run.slurm", workers=2, memory="4GB", interface="lo")
    summary = run_locally(chosen, ["rewards"], quiet=True)
    assert summary.result.counts()["judge"] == {"done": 12} and not summary.result.quarantined
    assert "--nworkers 2" in asked.read_text()


@pytest.mark.slow
def test_the_demo_by_dask_is_the_demo_by_the_local_pool(tmp_path):
    """Two worker processes each; every published byte and every artifact."""
    for name in ("local", "dask"):
        path = tmp_path / f"{name}.toml"
        path.write_text(little_demo().format(output=name).replace("[run]\n", "[run]\nworkers = 2\n"))
        began = time.monotonic()
        command = [sys.executable, "-m", "apportion", "run", str(path), "--executor", name]
        # With a limit: of a run that waits for ever nobody would hear.
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=500, check=False)
        assert done.returncode == 0, done.stderr
        print(f"{name}: {time.monotonic() - began:.0f} s")
    expected = digests(tmp_path / "local")
    assert len(expected) > 100 and digests(tmp_path / "dask") == expected
