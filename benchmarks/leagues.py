"""Leagues of scripted agents, without a key: whether exact Bayes beats random play, and a whole chain on a league.

    python benchmarks/leagues.py bayes [--matches 200]
    python benchmarks/leagues.py chain [--work FOLDER]

`bayes`: team against team on the same deals, each game: how often the Bayesian agent wins in each team against
random play and against scripts with claims, less how often random play wins there. `chain`: 500 matches of Werewolf
from a pool with their tables, `rrd` with its reward model and evaluation on the first 60, a small measurer, and
`savoir`, `influence` and `llm` (recorded) on two games of each kind (demo/deduction/games), and the recorded intents
of 60 turns. JSON lines.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.league import LeagueChoice, read_matches
from apportion.environments.report_tables.table import Figure, Value
from apportion.environments.simulation import write_corpus
from apportion.environments.tournament.team_games.matches import TEAMS, Matches
from apportion.environments.tournament.team_games.rates import difference, distinct, ends_against, win_rate
from apportion.foundation.intervals.resampling import Sampling
from benchmarks.measure import machine

LIMIT_S = 360
KINDS = ("werewolf", "avalon", "onuw")
INTENTS = ROOT / "demo" / "stackelberg"
RECORDED = ("--model", "claude", "--recorded", str(INTENTS / "intents.jsonl"))
MEASURER = ("--steps", "20", "--tokens", "2048")
OURS, THEIRS, AGAINST = "bayes", "random", ("random", "claims")


def league(kind: str, matches: int, folder: Path) -> Matches:
    """Team against team, played and read."""
    agents = tuple(dict.fromkeys((OURS, THEIRS, *AGAINST)))
    write_corpus(LeagueChoice(game_called(kind), agents, matches, mode=TEAMS), folder)
    (found,) = read_matches(folder)
    return found


def compared(found: Matches, team: str, against: str, sampling: Sampling) -> tuple[Figure, Figure, Figure]:
    """The win rate of `OURS` in a team against an agent, that of `THEIRS`, and the difference on the same deals."""
    ours, theirs = (ends_against(found, agent, team, against) for agent in (OURS, THEIRS))
    return win_rate(ours), win_rate(theirs), difference(ours, theirs, sampling)


def bayes(matches: int) -> None:
    """Play every game, and tell."""
    for kind in KINDS:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found = league(kind, matches, Path(folder) / "league")
        seconds = round(time.perf_counter() - began, 1)
        for team, against in product(found.teams, AGAINST):
            figures = compared(found, team, against, Sampling())
            told = [figure.text(1) for figure in figures if isinstance(figure, Value)]
            line = {"game": kind, "team": team, "against": against}
            line |= dict(zip((OURS, THEIRS, "difference"), told, strict=True))
            print(json.dumps({**line, "matches": matches, "beats": distinct(figures[2])}), flush=True)
        print(json.dumps({"game": kind, "matches in all": len(found.matches), "seconds": seconds}), flush=True)


def chain(work: Path) -> None:
    """A league of 500 matches, its tables, and the methods, by their commands."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name in ("league.toml", "six.toml"):
        shutil.copy(ROOT / "demo" / "deduction" / "games" / name, work)
    shutil.copytree(ROOT / "demo" / "deduction" / "games" / "six", work / "six")
    shutil.copy(ROOT / "demo" / "deduction" / "games" / "six.jsonl", work)
    commands = (
        ("tournament", "werewolf", str(work / "league"), "--agents", "random,claims,bayes", "--matches", "500"),
        ("tables", "stackelberg", str(work / "league"), "-o", str(work / "report")),
        ("run", str(work / "league.toml")),
        ("models", "train", "measurer", str(work / "league"), "-o", str(work / "measurer"), *MEASURER),
        ("decompose", str(work / "six.toml")),
        ("refine", "instances", str(INTENTS / "turns.jsonl"), "-o", str(work / "turns.jsonl"), *RECORDED),
    )
    began, cpu = time.perf_counter(), 0.0
    for command in commands:
        start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "apportion", *command], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        cpu += seconds
        line = {"command": " ".join(command[:2]), "seconds": round(time.perf_counter() - start, 1)}
        print(json.dumps({**line, "cpu": round(seconds, 1)}), flush=True)
    print(json.dumps({"seconds in all": round(time.perf_counter() - began, 1), "cpu": round(cpu, 1), "limit": LIMIT_S}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("bayes", "chain"))
    parser.add_argument("--matches", type=int, default=200)
    parser.add_argument("--work", type=Path, default=Path("runs") / "leagues")
    arguments = parser.parse_args()
    print(json.dumps({"machine": machine()}))
    if arguments.what == "bayes":
        bayes(arguments.matches)
    else:
        chain(arguments.work.resolve())


if __name__ == "__main__":
    main()
