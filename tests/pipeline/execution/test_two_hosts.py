"""Two hosts that have only a bucket, a database and perhaps a Dask scheduler in common make and pay all once."""

import json
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from apportion.llm_client.cache.cache import ReplyCache
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus
from tests.hosts import network
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.llm_run import good
from tests.postgres import cluster

pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'apportion[s3]'")
pytestmark = pytest.mark.slow  # a dead host's claims end after 80 s
SESSIONS, AT_ONCE = 12, 2
UNITS = {"split": 1, "judge": 2 * SESSIONS, "rewards": 2, "report": 1}
TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
last_stage = "rewards"
{run}
[decompose]
method = "llm"
compare = ["sentiment"]
[decompose.llm]
base_url = "{llm}"
allow_host = "{host}"
model = "m"
concurrency = {at_once}
max_tokens = 100
"""
RUN = [sys.executable, "-m", "apportion", "run", "--json", "config.toml"]


@contextmanager
def moto(address, log):
    """An S3-compatible store in its own process, with an empty bucket; its log names each request."""
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", address, "-p", "5000"], stderr=file)
    url = f"http://{address}:5000"
    try:
        for _ in range(600):
            with suppress(OSError), urllib.request.urlopen(urllib.request.Request(f"{url}/bucket", method="PUT")):
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()


class Shared:
    """What hosts share, and the hosts themselves; each has a copy of corpus and configuration."""

    def __init__(self, folder, net, llm, store, server, sessions):
        self.folder, self.net, self.llm, self._store, self._server = folder, net, llm, store, server
        write_small_corpus(folder / "corpus", sessions=sessions, exchanges=8)
        self._text = {"llm": llm.url, "host": net.address, "at_once": AT_ONCE}
        self.bucket, self._asked = "", threading.Event()
        self._asked.set()
        llm.answer = lambda body: self._asked.wait(300) and good(body)
        self.begin_anew("run")

    def begin_anew(self, name):
        """Nothing is in the ``name``d folder of the bucket, nor in the ledger, and nobody has asked for anything."""
        self.bucket = f"/bucket/{name}/"
        self.ledger = f"postgresql://tests@{self.net.address}/{urlsplit(self._server.database('tests')).path[1:]}"
        self.run = TEXT.format(run=f'store = "s3://bucket/{name}"\nllm_cache = "{self.ledger}"', **self._text)
        self.llm.requests.clear()
        self.llm.arrivals_s.clear()

    def host(self, name):
        own = self.net.folder(name)
        if not own.exists():
            self.net.add(name)
            shutil.copytree(self.folder / "corpus", own / "corpus")
        shutil.rmtree(own / "run", ignore_errors=True)
        config(own, self.run)
        return own

    def start(self, name, command=RUN, **more):
        return self.net.start(name, command, AWS_ENDPOINT_URL=self._store, OPENAI_API_KEY="a key", **more)

    def start_together(self, *names):
        """Runs on these hosts; nobody gets a reply before all of them are at what asks for one."""
        self._asked.clear()
        started = [self.start(name) for name in names]
        awaited = {self.net.at(name) for name in names}
        while awaited - {row[0] for row in self.stored() if "artifacts/judge/" in row[6]}:
            assert all(process.poll() is None for process in started)
            time.sleep(0.05)
        self._asked.set()
        return started

    def dask(self, name, **more):
        """Dask's scheduler on the host ``s``, a worker on any other, once it is there."""
        kind, place = "scheduler" if name == "s" else "worker", self.net.at("s")
        given = [f"tcp://{place}:8786", "--nthreads", "1", "--name", name]
        given = ["--host", place, "--port", "8786"] if name == "s" else given
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *given, "--no-dashboard"]
        process = self.start(name, command, **more)
        while not re.search("Registered to|Scheduler at", process.stderr.readline()):
            assert process.poll() is None
        return process

    def put(self, status="200"):
        """How often each artifact was put into the bucket and the answer was ``status``."""
        rows = [row for row in self.stored() if row[5] == '"PUT' and row[-2] == status]
        return Counter(row[6] for row in rows if row[6].startswith(f"{self.bucket}artifacts/"))

    def stored(self):
        """The words of each request to the store: who, -, -, day, time, method, what, protocol, status, -."""
        log = re.sub(r"\x1b\[\d+m", "", (self.folder / "moto.log").read_text())
        return [line.split() for line in log.splitlines() if line.endswith(" -")]

    def locally_made(self):
        """The artifacts of a run that shares nothing."""
        path = self.folder / "local.toml"
        path.write_text(TEXT.format(run="", **self._text).replace('"run"', '"local"'))
        run_locally(load_config(path), ["rewards", "report"], quiet=True)
        return manifests(self.folder / "local" / "store")


@contextmanager
def sharing(folder, sessions=SESSIONS):
    """A store, a database and a language model for the hosts of a network."""
    llm = OpenAIServer(latency_s=0.3)
    with (
        network(folder) as net,
        moto(net.address, folder / "moto.log") as store,
        cluster(net.address) as server,
        serving(llm, address=net.address),
    ):
        yield Shared(folder, net, llm, store, server, sessions)


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    with sharing(tmp_path) as made:
        yield made


def ended(process):
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    return json.loads(out)["units"]


def manifests(store):
    return {made.parent.relative_to(store): made.read_text() for made in store.rglob("manifest.json")}


def killed(process):
    process.kill()
    process.communicate()


def replies(shared):
    cache = ReplyCache(shared.ledger)
    try:
        return cache.usage().replies
    finally:
        cache.close()


def check_once(shared, *own, under_way=0):
    """Every unit was put, every reply paid once, but for what was ``under_way``; all hosts have a local run's bytes."""
    put, asked = shared.put(), Counter(json.dumps(body["messages"]) for body in shared.llm.requests)
    print(f"{sum(put.values())} artifacts put, {len(put)} of them; {sum(asked.values())} requests of {len(asked)}")
    assert set(put.values()) == {1} and len(put) == sum(UNITS.values())
    assert len(asked) == SESSIONS == replies(shared) and sum(asked.values()) <= SESSIONS + under_way
    expected = shared.locally_made()
    assert len(expected) == len(put)
    assert [manifests(folder / "run" / "store") for folder in own] == [expected] * len(own)


def units_done(*counts):
    return {stage: sum(each[stage].get("done", 0) for each in counts) for stage in UNITS}


def test_two_runners_at_once(shared):
    own = [shared.host(name) for name in "ab"]
    counts = [ended(process) for process in shared.start_together("a", "b")]
    print(counts)
    assert units_done(*counts) == UNITS
    assert all(each["judge"].get("done") for each in counts)
    check_once(shared, *own)


def test_a_host_that_is_killed_leaves_its_units_to_the_other(shared):
    own = {name: shared.host(name) for name in "abc"}
    one, other = shared.start_together("a", "b")
    while len(shared.llm.requests) < 5:
        assert one.poll() is None and other.poll() is None
        time.sleep(0.01)
    killed(one)
    begun_s = time.monotonic()
    counts = ended(other)
    print(counts, f"{time.monotonic() - begun_s:.0f} s after the kill")
    again = ended(shared.start("c"))
    assert units_done(again) == dict.fromkeys(UNITS, 0) and again["judge"] == {"reused": UNITS["judge"]}
    check_once(shared, own["b"], own["c"], under_way=AT_ONCE)


@pytest.mark.parametrize("kill", [False, True])
def test_dask_workers_on_two_hosts(shared, kill):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install 'apportion[dask]'")
    own = {name: shared.host(name) for name in "sabr"}
    workers = {}
    try:
        for name in "sab":
            workers[name] = shared.dask(name)
        run = shared.start("r", [*RUN, "--executor", f"dask://{shared.net.at('s')}:8786"])
        if kill:
            while len(shared.llm.requests) < 5:
                assert run.poll() is None, run.stderr.read()
                time.sleep(0.01)
            killed(workers["a"])
        counts = ended(run)
    finally:
        for process in workers.values():
            killed(process)
    print(counts)
    assert kill or units_done(counts) == UNITS
    made = [len(manifests(own[name] / "run" / "store")) for name in "ab"]
    print(f"artifacts at a and b: {made}")
    assert all(made)
    check_once(shared, own["r"], under_way=AT_ONCE * kill)
