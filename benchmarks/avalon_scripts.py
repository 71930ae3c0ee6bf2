"""Claim: through the core random agents play at least 300 games of Avalon a second, Bayesian ones 20; who beats whom.

Run: taskset -c 0 python benchmarks/avalon_scripts.py [--games 500]

Every ordered pair of scripts plays as many games, one agent in all seats of a side, on the same deals: how often good
wins, with Wilson's interval of 95 %, and games a second of process time (observations as data, no log).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import product
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.avalon.game import GAME, Avalon
from apportion.environments.deduction.avalon.rules import GOOD
from apportion.foundation.intervals.proportion import wilson
from benchmarks.measure import tell

SCRIPTS = ("random", "claims", "bayes")
LEAST = {"random": 300.0, "bayes": 20.0}
"""Games a second where one script plays all seats."""


def game_of(good: Agent, evil: Agent, seed: str) -> Avalon:
    """One game to its end, by an agent a side."""
    game = Avalon()
    game.reset(seed)
    seats = zip(game.agents, game.deal, strict=True)
    play(game, {name: good if game.teams[role] == GOOD else evil for name, role in seats})
    return game


def main() -> None:
    """Play, and print a line a pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=500)
    games = parser.parse_args().games
    agents = {name: GAME.roster.scripted(name) for name in SCRIPTS}
    held = True
    for good, evil in product(SCRIPTS, repeat=2):
        begun = time.process_time()
        endings = Counter(game_of(agents[good], agents[evil], str(number)).game.ending for number in range(games))
        speed = games / (time.process_time() - begun)
        won = endings["merlin hidden"] / games
        low, high = wilson(won, games)
        if good == evil:
            held &= speed >= LEAST.get(good, 0.0)
        called = f"avalon: {good} as good, {evil} as evil"
        tell(f"{called}, games won by good", won, "share", games=games, low=low, high=high, endings=dict(endings))
        tell(f"{called}, speed", speed, "games/s")
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
