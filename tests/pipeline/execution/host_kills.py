"""kill -9 at random moments of hosts that share a bucket and a ledger; counts what was lost, torn, made or paid twice.

    python -m tests.pipeline.execution.host_kills {runners,worker,scheduler} FOLDER [--kills 20] [--seed 1]

``runners``: two at once, on two hosts. ``worker``: one of Dask's two, on two hosts; ``scheduler``: Dask's, on another.
A dead host's claims end after 8 s in place of 80. Exit code 1: something of that was.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

from tests.pipeline.execution.test_two_hosts import AT_ONCE, RUN, Shared, manifests, replies, sharing

SESSIONS = 24
HOST = """
import importlib, json, os, runpy, sys
from apportion.llm_client.cache import leases
for name in ("_ENTER", "_RENEW"):
    setattr(leases, name, getattr(leases, name).replace("60.0", "6.0"))
leases.LEASE_S, leases.RENEW_S, leases._GRACE_S = 6.0, 1.0, 2.0
for name in sys.argv[1:]:
    importlib.import_module(name)
from apportion.pipeline.execution import runner
from tests.behaviour.command import threads
runner._process_pool = threads
child = None
for line in sys.stdin:
    command = json.loads(line)
    if command == "poll":
        found, code = os.waitpid(child, os.WNOHANG) if child else (1, 0)
        child = None if found else child
        told = os.waitstatus_to_exitcode(code) if found else None
    elif command == "kill":
        os.kill(child, 9)
        told, child = os.waitpid(child, 0)[1], None
    else:
        child = told = os.fork()
        if not child:
            for number in (1, 2):
                os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.argv = command
            runpy.run_module(command[0], run_name="__main__", alter_sys=True)
            os._exit(0)
    print(json.dumps(told), flush=True)
"""
"""A host's first process has imported all, and its runs, workers and schedulers are forks, which begin at once."""
MODULES = [
    "aiobotocore.session", "apportion.cli", "apportion.decompose.language_models",
    "apportion.llm_client.cache.postgresql", "apportion.llm_client.cache.server_leases",
    "apportion.llm_client.client", "apportion.pipeline.execution.local", "apportion.pipeline.execution.cluster",
    "apportion.pipeline.llm_requests.spend", "apportion.pipeline.preflight", "apportion.pipeline.results.publish",
    "distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "s3fs", "torch",
]  # fmt: skip


class Host:
    """A host with at most one program at a time, which can be killed."""

    def __init__(self, shared: Shared, name: str) -> None:
        shared.host(name)
        self._said = shared.net.folder(name) / "said"
        self._process = shared.start(name, [sys.executable, "-c", HOST, *MODULES])

    def _do(self, command: str | list[str]) -> int | None:
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self._process.stderr.read()
        return json.loads(answer)

    def start(self, *command: str) -> None:
        """Begin a module with its arguments."""
        self._said.unlink(missing_ok=True)
        self._do(list(command))

    def poll(self) -> int | None:
        """The program's exit code; None: it is at work."""
        return self._do("poll")

    def kill(self) -> None:
        """Kill -9 of the program, if it is at work."""
        if self.poll() is None:
            self._do("kill")

    def last_words(self) -> str:
        """The last line that the program has said."""
        lines = self._said.read_text().strip().splitlines() if self._said.exists() else []
        return lines[-1][:90] if lines else ""


class Round:
    """One run, from nothing to its end, whose processes are killed meanwhile."""

    def __init__(self, shared: Shared, hosts: dict[str, Host], kind: str, chance: random.Random) -> None:
        self.shared, self.hosts, self.kind, self.chance = shared, hosts, kind, chance
        self.kills, self.killed_s = 0, list[float]()
        self.ends: Counter[str] = Counter()
        self.next_at = 0
        for name in hosts:
            shared.host(name)
            self.start(name)
        self.draw()

    def start(self, name: str) -> None:
        """A runner on each of ``ab``, or a scheduler on ``s``, workers on ``ab`` and a runner on ``r``."""
        place, run = self.shared.net.at("s") if "s" in self.hosts else "", RUN[2:]
        commands = {
            "s": ["distributed.cli.dask_scheduler", "--host", place, "--port", "8786", "--no-dashboard"],
            "r": [*run, "--executor", f"dask://{place}:8786"],
        }
        worker = ["distributed.cli.dask_worker", f"tcp://{place}:8786", "--nthreads", "1", "--no-nanny"]
        self.hosts[name].start(*commands.get(name, [*worker, "--no-dashboard"] if place else run))

    def requests(self) -> int:
        """How many the store has had, which is how far the work is, however slow the machine."""
        return len(self.shared.stored())

    def draw(self) -> None:
        """When the next kill comes: a number of requests of a run that takes some 400, and a while."""
        self.next_at = self.requests() + self.chance.randint(5, 80)

    def kill(self) -> None:
        """One of those that are at work, at once begun again; what was a scheduler's does not go on with another."""
        victims = [name for name in ("s" if self.kind == "scheduler" else "ab") if self.hosts[name].poll() is None]
        if not victims:
            return
        victim = self.chance.choice(victims)
        self.hosts[victim].kill()
        self.kills += 1
        self.killed_s.append(time.monotonic())
        if victim == "s":
            while self.hosts["r"].poll() is None:
                time.sleep(0.1)
            self.ends[self.hosts["r"].last_words()] += 1
        others = self.hosts if victim == "s" else victim
        for name in others:
            self.hosts[name].kill()
        self.killed_s.append(time.monotonic())
        for name in others:
            self.start(name)

    def over(self) -> bool:
        """Whether every run has reached its end; one that has not is started again."""
        ends = {name: self.hosts[name].poll() for name in ("r" if "r" in self.hosts else "ab")}
        for name, code in ends.items():
            if code:
                self.ends[self.hosts[name].last_words()] += 1
                self.start(name)
        return not any(code is None or code for code in ends.values())

    def faults(self, expected: dict[Path, str]) -> list[str]:
        """What ought not to be, in words."""
        shared, told = self.shared, []
        for name in "r" if "r" in self.hosts else "ab":
            if manifests(shared.net.folder(name) / "run" / "store") != expected:
                told.append(f"{name} has other artifacts than a local run")
        first, again = shared.put(), shared.put("412")
        if set(first.values()) != {1} or len(first) != len(expected) or again:
            told.append(
                f"{len(first)} artifacts put, {sum(first.values()) - len(first)} again, {len(again)} made twice"
            )
        asked: dict[str, list[float]] = {}
        for body, at_s in zip(shared.llm.requests, shared.llm.arrivals_s, strict=True):
            asked.setdefault(json.dumps(body["messages"]), []).append(at_s)
        for one, other in (pair for times in asked.values() for pair in pairwise(times)):
            if not any(one < kill_s < other for kill_s in self.killed_s):
                told.append("a reply was paid twice without a kill between")
        again = len(shared.llm.requests) - len(asked)
        self.ends["asked again, being on the way at a kill"] += again
        if again > AT_ONCE * self.kills:
            told.append(f"{again} replies paid twice at {self.kills} kills; each can meet {AT_ONCE}")
        if len(asked) != SESSIONS or replies(shared) != SESSIONS:
            told.append(f"{replies(shared)} replies in the ledger to {len(asked)} questions")
        return told


def main() -> int:
    """Kill, count, tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["runners", "worker", "scheduler"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.folder.mkdir(parents=True)
    os.environ |= {
        "OPENAI_API_KEY": "a key",
        "APPORTION_CACHE": str(given.folder / "cache"),
    }
    chance, kills, rounds, faults, ends = random.Random(given.seed), 0, 0, [], Counter[str]()
    with sharing(given.folder, SESSIONS) as shared:
        expected = shared.locally_made()
        hosts = {name: Host(shared, name) for name in ("ab" if given.kind == "runners" else "sabr")}
        while kills < given.kills:
            shared.begin_anew(f"round{rounds}")
            this = Round(shared, hosts, given.kind, chance)
            while not this.over():
                time.sleep(chance.uniform(0.05, 0.25))
                if kills + this.kills < given.kills and this.requests() > this.next_at:
                    this.kill()
                    this.draw()
            faults += this.faults(expected)
            for host in hosts.values():
                host.kill()
            rounds, kills, ends = rounds + 1, kills + this.kills, ends + this.ends
            print(f"{rounds} rounds, {kills} kills, {dict(ends)}, faults: {faults}", flush=True)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
