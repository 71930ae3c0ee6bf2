"""Claim: One Night plays 300 games a second through the core with random agents, 20 with Bayesian ones, on one core.

And who wins: every pair of a village and a Werewolf of `random`, `claims` and `bayes` on the same deals, one round.

    taskset -c 0 python benchmarks/deduction_onuw.py [--games 2000]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import product
from pathlib import Path
from random import Random

sys.path[0] = str(Path(__file__).resolve().parents[1])

from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.onuw.game import GAME, OneNight
from apportion.environments.deduction.onuw.posterior import worlds
from apportion.environments.deduction.onuw.rules import (
    CHOOSING,
    PLAYERS,
    WEREWOLF,
    Options,
    all_deals,
    at_night,
    choices_of,
    dead,
    winner,
)

NAMES = ("random", "claims", "bayes")


def rules_alone(games: int) -> float:
    """Random games a second without core, log or talk."""
    draws, deals, options = Random(0), all_deals(), Options()
    ballots = [(None, *[other for other in range(PLAYERS) if other != seat]) for seat in range(PLAYERS)]
    start = time.process_time()
    for _ in range(games):
        deal = draws.choice(deals)
        places = {role: deal.index(role) for role in CHOOSING}
        chosen = {role: draws.choice(choices_of(role, at)) for role, at in places.items() if at < PLAYERS}
        winner(at_night(deal, chosen).cards, dead([draws.choice(one) for one in ballots], options))
    return games / (time.process_time() - start)


def game(village: Agent, wolf: Agent, seed: int, options: Options) -> tuple[float, float]:
    """One game: the part of those dealt the village's cards that wins, and whether the Werewolf's player does."""
    played = OneNight(options)
    played.reset(f"who wins/{seed}")
    dealt = dict(zip(played.agents, played.deal, strict=False))
    play(played, {name: wolf if role == WEREWOLF else village for name, role in dealt.items()})
    won = {name: float(one["win"] or 0) for name, one in played.outcome().items()}
    (werewolf,) = (won[name] for name in dealt if dealt[name] == WEREWOLF)
    return (sum(won.values()) - werewolf) / (PLAYERS - 1), werewolf


def main() -> None:
    """Print speeds and win rates, a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=2_000)
    games = parser.parse_args().games
    print(json.dumps({"rules alone, games a second": round(rules_alone(10 * games))}))
    worlds()
    agents = {name: GAME.roster.scripted(name) for name in NAMES}
    for name, times in zip(NAMES, (games, games, games // 10), strict=True):
        start = time.process_time()
        for seed in range(times):
            game(agents[name], agents[name], seed, Options())
        print(
            json.dumps({"all seats": name, "rounds": 3, "games a second": round(times / (time.process_time() - start))})
        )
    for village, wolf in product(NAMES, NAMES):
        won = [game(agents[village], agents[wolf], seed, Options(rounds=1)) for seed in range(games)]
        rates = [round(sum(one[side] for one in won) / games, 3) for side in (0, 1)]
        print(json.dumps({"village": village, "werewolf": wolf, "village wins": rates[0], "werewolf wins": rates[1]}))


if __name__ == "__main__":
    main()
