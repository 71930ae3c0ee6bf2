"""Claim: whatever a language model's server does, no session is lost that patience would have got.

Each fault (tests/llm_client/hostile/faults.py) is done to a run of `apportion run --only decompose` on six made-up
dialogues by a
server of raw sockets on loopback; then the same command runs again with the server well. A line a fault: its outcome
(recovered; quarantined with evidence; stopped with advice), sessions lost, what the second run had to ask again, and
peak memory. No peer is measured beside it.

Run: python -m benchmarks.hostile_server [--only WORDS] [--at-once 2]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.measure import tell
from tests.llm_client.hostile.faults import FAULTS
from tests.llm_client.hostile.trial import Trial, tried


def run(number: int) -> Trial:
    """The trial of FAULTS[number], which itself cannot be sent to a process."""
    with tempfile.TemporaryDirectory() as folder:
        return tried(FAULTS[number], Path(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="faults whose name has these words")
    parser.add_argument("--at-once", type=int, default=2, help="runs beside each other")
    parser.add_argument("--said", action="store_true", help="show what each run printed")
    chosen = parser.parse_args()
    numbers = [number for number, fault in enumerate(FAULTS) if chosen.only in fault.name]
    outcomes: Counter[str] = Counter()
    lost = asked_again = 0
    # A process a trial: the peak memory of a run counts from that of the process which starts it.
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(chosen.at_once, spawning, max_tasks_per_child=1) as pool:
        for number, trial in zip(numbers, pool.map(run, numbers), strict=True):
            fault = FAULTS[number]
            as_expected = trial.outcome == fault.outcome
            outcomes[trial.outcome if as_expected else f"not as expected: {trial.outcome}"] += 1
            lost, asked_again = lost + trial.lost, asked_again + trial.asked_again
            row = {
                "fault": fault.name, "outcome": trial.outcome, "expected": fault.outcome, "exit": trial.exit_code,
                "sessions": trial.got, "lost": trial.lost, "after_second_run": trial.after,
                "asked_again": trial.asked_again, "requests": trial.requests, "seconds": round(trial.seconds, 1),
                "peak_mib": round(trial.peak_mib),
            }  # fmt: skip
            print(json.dumps(row), flush=True)
            if chosen.said:
                print(trial.said, file=sys.stderr)
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    tell("sessions lost that a patient person would have got", lost, "sessions", faults=len(numbers), outcomes=told)
    tell("sessions asked about again by the second run", asked_again, "sessions")
