"""Claims on `apportion patterns`: planted kinds are found and named, shuffled rewards show none, real ones are told.

Run: python benchmarks/patterns.py [--uss SGD.txt.gz] [--casino FOLDER] [--draws 100] [--corpora 10]

Made-up corpora (tests/evaluation/error_slices/planted.py: 300 sessions of ten turns, three kinds of bad turn among six
usual ones, each 6% of turns, a cost of one standard deviation of the noise): all three kinds are found and called by
words of their own. The rewards of such corpora (160 sessions) shuffled in three ways: at most 5 of 100 draws of each
show any kind. On a real corpus (rating `satisfaction`; rewards by `reaction` and `sentiment`) every kind that held in
the other half is told, with its difference, its interval and its share of that half's sessions; and the same turns with
their rewards shuffled within sessions are looked at as often as --draws says.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

# The folder of this file is not searched: some files in it are named like packages of ours.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from apportion.evaluation.error_slices.find import find_patterns
from apportion.evaluation.error_slices.result import Kind, Patterns, PatternSettings
from apportion.pipeline.error_slices.read import RunTurns, read_turns
from apportion.pipeline.results.run_folder import open_run, read_record
from benchmarks.measure import tell, timed
from tests.evaluation.error_slices.planted import NAMING, SHUFFLES, called_after, corpus, shuffled

CONFIG = """corpus = "corpus"
output = "run"
rating = "satisfaction"
[decompose]
methods = ["reaction", "sentiment"]
"""
MOST_FALSE = 0.05
QUICK = PatternSettings(resamples=100)
"""Intervals are not looked at where all that counts is whether anything is shown."""


def planted(corpora: int) -> None:
    """How many of the planted kinds are found, and how many others are shown."""
    found, others = 0, 0
    for seed in range(corpora):
        kinds = find_patterns(corpus(seed, sessions=300, cost=1.0)[0], "planted").kinds
        found += len(set().union(*(called_after(kind) for kind in kinds if kind.difference.value < 0)))
        others += sum(not called_after(kind) for kind in kinds)
    there = corpora * len(NAMING)
    tell("patterns, planted kinds that are found and named", found, f"of {there}", met=found == there, others=others)


def made_up(draws: int) -> None:
    """How often shuffled rewards of made-up corpora show anything."""
    for how in SHUFFLES:
        dealt = (shuffled(corpus(seed, sessions=160)[0], how, seed + 1000) for seed in range(draws))
        _false(f"made-up, shuffled: {how}", sum(bool(find_patterns(one, how, QUICK).kinds) for one in dealt), draws)


def real(kind: str, source: Path, draws: int) -> None:
    """What is told of a real corpus, and how often its shuffled rewards show anything."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        timed(["import", kind, str(source), str(work / "corpus")])
        (work / "config.toml").write_text(CONFIG)
        timed(["decompose", str(work / "config.toml")])
        run = open_run(work / "run", None)
        turns = read_turns(run, read_record(run.folder), (), work, "minilm")
    for method in sorted(turns.rewards):
        name = f"{source.name.split('.')[0]}, {method}"
        _told(name, find_patterns(turns.of(method), method))
        _false(f"{name}, shuffled within", _alarms(turns, method, draws), draws)


def _alarms(turns: RunTurns, method: str, draws: int) -> int:
    dealt = (shuffled(turns.of(method), "within", seed) for seed in range(draws))
    return sum(bool(find_patterns(one, method, QUICK).kinds) for one in dealt)


def _false(name: str, alarms: int, draws: int) -> None:
    tell(f"patterns, {name}", alarms, f"of {draws} draws", met=alarms <= MOST_FALSE * draws)


def _told(name: str, patterns: Patterns) -> None:
    more = {"proposed": patterns.candidates, "sessions": sum(patterns.sessions), "turns": sum(patterns.turns)}
    tell(f"patterns, {name}", len(patterns.kinds), "kinds held", **more, kinds=[_line(kind) for kind in patterns.kinds])


def _line(kind: Kind) -> str:
    low, high = kind.difference.low, kind.difference.high
    assert low is not None and high is not None
    told = f"{kind.name} {kind.difference.value:+.3f} [{low:+.3f}, {high:+.3f}] {kind.sessions.value:.0%}"
    return told if kind.score is None else f"{told}, score {kind.score.value:+.2f}"


def main() -> None:
    """All that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uss", type=Path, help="a file of USS")
    parser.add_argument("--casino", type=Path, help="the folder of CaSiNo")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--corpora", type=int, default=10, help="made-up ones with planted kinds")
    options = parser.parse_args()
    planted(options.corpora)
    made_up(options.draws)
    for kind, source in (("uss", options.uss), ("casino", options.casino)):
        if source is not None:
            real(kind, source, options.draws)


if __name__ == "__main__":
    main()
