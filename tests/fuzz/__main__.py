"""`python -m tests.fuzz --cases N --seed S [--what WHAT]`: more cases than the slow test takes."""

import argparse
import sys
import time

from tests.fuzz.cases import Outcome, command_lines, configurations, corpora

WHAT = {"corpora": corpora, "configurations": configurations, "command lines": command_lines}


def show(what: str, outcome: Outcome, seconds: float) -> None:
    print(f"{what}: {outcome}; {seconds:.0f} s")
    for place, text in outcome.faults.items():
        print(f"\n== {place}\n{text}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--what", choices=sorted(WHAT), action="append", help="default: all")
    given = parser.parse_args()
    faults = 0
    for what in given.what or sorted(WHAT):
        began = time.monotonic()
        outcome = WHAT[what](range(given.first, given.first + given.cases), given.seed)
        show(what, outcome, time.monotonic() - began)
        faults += len(outcome.faults)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
