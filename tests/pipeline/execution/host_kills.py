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
from pathlib import Path

from tests.behaviour.command import ROOT
from tests.pipeline.execution.test_two_hosts import RUN, Shared, killed, manifests, replies, sharing

SESSIONS = 24
SOON = """
from apportion.llm_client.cache import leases
for name in ("_ENTER", "_RENEW"):
    setattr(leases, name, getattr(leases, name).replace("60.0", "6.0"))
leases.LEASE_S, leases.RENEW_S, leases._GRACE_S = 6.0, 1.0, 2.0
"""
SLACK_S = 1.0
"""What a killed process' request may arrive after its kill, or its reply be on its way, on a busy machine."""


class Round:
    """One run, from nothing to its end, whose processes are killed meanwhile."""

    def __init__(self, shared: Shared, kind: str, chance: random.Random) -> None:
        self.shared, self.kind, self.chance = shared, kind, chance
        self.names = "ab" if kind == "runners" else "sabr"
        self.killed_s: list[float] = []
        self.ends: Counter[str] = Counter()
        for name in self.names:
            site = shared.host(name) / "site"
            site.mkdir(exist_ok=True)
            (site / "sitecustomize.py").write_text(SOON)
        self.processes = {name: self.start(name) for name in self.names}

    def start(self, name: str):
        more = {"PYTHONPATH": f"{self.shared.net.here}/site:{ROOT}"}
        if self.kind == "runners":
            return self.shared.start(name, **more)
        if name != "r":
            return self.shared.dask(name, **more)
        return self.shared.start(name, [*RUN, "--executor", f"dask://{self.shared.net.at('s')}:8786"], **more)

    def kill(self) -> None:
        victims = {"runners": "ab", "worker": "ab", "scheduler": "s"}[self.kind]
        name = self.chance.choice([name for name in victims if self.processes[name].poll() is None] or [""])
        if name:
            killed(self.processes[name])
            self.killed_s.append(time.monotonic())
            # What was a scheduler's does not go on with another.
            for other in self.names if name == "s" else name:
                self.collect(other)
                killed(self.processes[other])
            for other in self.names if name == "s" else name:
                self.processes[other] = self.start(other)

    def collect(self, name: str) -> None:
        """What a run's end says, which a scheduler's kill ends."""
        if name == "r":
            self.processes[name].wait(120)
            self.ends[self.processes[name].stderr.read().strip().splitlines()[-1][:90]] += 1

    def over(self) -> bool:
        """Whether every run has reached its end; one that has not is started again."""
        ends = {name: self.processes[name].poll() for name in ("ab" if self.kind == "runners" else "r")}
        for name, code in ends.items():
            if code:
                self.ends[self.processes[name].communicate()[1].strip().splitlines()[-1][:90]] += 1
                self.processes[name] = self.start(name)
        return all(code == 0 for code in ends.values())

    def faults(self, expected: dict[Path, str]) -> list[str]:
        """What ought not to be, in words."""
        shared, told = self.shared, []
        for name in "ab" if self.kind == "runners" else "r":
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
        for times in asked.values():
            for at_s in times[:-1]:  # A kill met it on its way.
                if not any(-SLACK_S <= kill - at_s <= shared.llm.latency_s + SLACK_S for kill in self.killed_s):
                    told.append("a reply was paid twice")
        if len(asked) != SESSIONS or replies(shared) != SESSIONS:
            told.append(f"{replies(shared)} replies in the ledger to {len(asked)} questions")
        self.ends["asked again on the way at a kill"] += len(shared.llm.requests) - len(asked)
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
    os.environ["OPENAI_API_KEY"] = "a key"
    chance, kills, rounds, faults, ends = random.Random(given.seed), 0, 0, [], Counter[str]()
    with sharing(given.folder, SESSIONS) as shared:
        expected = shared.locally_made()
        while kills < given.kills:
            shared.begin_anew(f"round{rounds}")
            this, next_s = Round(shared, given.kind, chance), time.monotonic() + chance.uniform(2, 14)
            try:
                while not this.over():
                    if kills + len(this.killed_s) < given.kills and time.monotonic() > next_s:
                        this.kill()
                        next_s = time.monotonic() + chance.uniform(2, 14)
                    time.sleep(0.02)
                faults += this.faults(expected)
            finally:
                for process in this.processes.values():
                    killed(process)
            rounds, kills, ends = rounds + 1, kills + len(this.killed_s), ends + this.ends
            print(f"{rounds} rounds, {kills} kills, {dict(ends)}, faults: {faults}", flush=True)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
