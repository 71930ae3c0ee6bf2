"""Claim: 5,000 damaged inputs and the bombs of strangers are read or refused with a line, never a traceback or a hang.

Damaged sources of every importer, configurations and command lines (`tests.fuzz`) are given to the command line in one
process a kind; an account that does not add up is a fault, too. Each bomb is given to a process of its own: it has to
end with exit code 2 and one line, under 700 MiB and 20 s of CPU. No peer is measured beside it.

Run: python -m benchmarks.strangers [--only inputs|bombs] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.measure import ROOT, memory_mib, tell
from tests.corpus.strangers.bombs import BOMBS
from tests.fuzz.__main__ import WHAT
from tests.fuzz.cases import Outcome

INPUTS = {"corpora": 4_000, "configurations": 500, "command lines": 500}
MOST_MIB, MOST_CPU_S = 700, 20
CHILD = """import json, os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
status, used = os.wait4(pid, 0)[1:]
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""
"""Starts a command and tells its exit code, seconds and MiB; the peak of a process counts from that of its parent."""


def measured(arguments: list[str]) -> tuple[int, float, float, list[str]]:
    """Exit code, CPU seconds and peak MiB of `apportion ARGUMENTS`, and the lines that it said on stderr."""
    command = [sys.executable, "-I", "-c", CHILD, sys.executable, "-m", "apportion", *arguments]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    code, cpu_s, mib = json.loads(done.stdout.splitlines()[-1])
    return code, cpu_s, mib, done.stderr.splitlines()


def given(what: str, seed: int) -> tuple[Outcome, float]:
    """How the inputs of a kind ended, and the peak MiB of this process."""
    return WHAT[what](range(INPUTS[what]), seed), memory_mib("VmHWM")


def inputs(seed: int) -> None:
    """Give all damaged inputs, each kind in a process of its own, and tell what went wrong."""
    whole, peak, began = Outcome(), 0.0, time.monotonic()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for outcome, mib in pool.map(given, INPUTS, [seed] * len(INPUTS)):
            whole.cases, whole.codes, peak = whole.cases + outcome.cases, whole.codes + outcome.codes, max(peak, mib)
            whole.faults |= outcome.faults
    for place, text in whole.faults.items():
        print(f"== {place}\n{text}", file=sys.stderr)
    codes = {str(code): many for code, many in sorted(whole.codes.items())}
    seconds = round(time.monotonic() - began)
    peak = round(peak)
    tell("damaged inputs", len(whole.faults), "faults", inputs=whole.cases, codes=codes, peak_mib=peak, seconds=seconds)


def bombs() -> None:
    """Give all bombs, a line each, and tell how many did not end as they have to."""
    went_off, most_mib, most_cpu_s = 0, 0.0, 0.0
    for name, write in BOMBS.items():
        with tempfile.TemporaryDirectory() as folder:
            code, cpu_s, mib, said = measured(write(Path(folder)))
        held = code == 2 and len(said) == 1 and mib < MOST_MIB and cpu_s < MOST_CPU_S
        row = {"bomb": name, "held": held, "exit": code, "cpu_s": round(cpu_s, 1), "mib": round(mib), "said": said[:3]}
        print(json.dumps(row), flush=True)
        went_off, most_mib, most_cpu_s = went_off + (not held), max(most_mib, mib), max(most_cpu_s, cpu_s)
    tell("bombs", went_off, "went off", bombs=len(BOMBS), most_mib=round(most_mib), most_cpu_s=round(most_cpu_s, 1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("inputs", "bombs"))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.only != "inputs":
        bombs()
    if chosen.only != "bombs":
        inputs(chosen.seed)
