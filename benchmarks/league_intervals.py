"""How often intervals of win rates hold the true one, on simulated leagues whose true rates are enumerated.

    python benchmarks/league_intervals.py

Every seat is drawn from a pool; agents have strengths, and the larger team wins with a logistic chance. Beside the
interval that leagues have (Wilson's, for as many independent seats as vary as much): Wilson's of the seats as if each
were a match of its own, and the normal one with the same variance over matches. A line a setting, as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import product
from pathlib import Path

import numpy as np

sys.path[0] = str(Path(__file__).resolve().parents[1])

from apportion.foundation.intervals.proportion import clustered_share, wilson
from benchmarks.measure import machine

GAMES = {"werewolf": (7, 2, -1.2), "avalon": (5, 2, 1.0), "onuw": (5, 1, 0.3)}
"""Seats, those of the smaller team, and how the larger one's chance leans."""


def won(seatings: np.ndarray, strengths: np.ndarray, smaller: int, lean: float) -> np.ndarray:
    """The chance of the larger team; by symmetry the first seats are the smaller one's."""
    own = strengths[seatings]
    return 1 / (1 + np.exp(-lean - own[..., smaller:].mean(-1) + own[..., :smaller].mean(-1)))


def parts(seatings: np.ndarray, smaller: int, agent: int, team: str) -> tuple[np.ndarray, np.ndarray]:
    """How many seats an agent has in the larger and in the smaller team, of those that count."""
    large, small = (seatings[..., smaller:] == agent).sum(-1), (seatings[..., :smaller] == agent).sum(-1)
    return (large * (team != "smaller"), small * (team != "larger"))


def truth(agents: int, strengths: np.ndarray, game: str, team: str) -> float:
    """Over all choices of agents for seats, each as likely."""
    seats, smaller, lean = GAMES[game]
    every = np.array(list(product(range(agents), repeat=seats)))
    large, small = parts(every, smaller, agents - 1, team)
    chance = won(every, strengths, smaller, lean)
    return float((large * chance + small * (1 - chance)).sum() / (large + small).sum())


def covered(game: str, agents: int, matches: int, team: str, leagues: int) -> dict[str, float | int | str]:
    """Of many leagues, how often each interval of the last agent's rate holds the true one."""
    seats, smaller, lean = GAMES[game]
    draws = np.random.default_rng(0)
    strengths = np.linspace(-0.8, 0.8, agents) if agents > 1 else np.zeros(1)
    seatings = draws.integers(0, agents, (leagues, matches, seats))
    larger_won = draws.random((leagues, matches)) < won(seatings, strengths, smaller, lean)
    large, small = parts(seatings, smaller, agents - 1, team)
    true, hits, effects = truth(agents, strengths, game, team), np.zeros(3), []
    for wins, trials in zip(large * larger_won + small * ~larger_won, large + small, strict=True):
        share = clustered_share(wins, trials)
        assert share is not None and share.low is not None and share.high is not None
        half = 1.959964 * np.sqrt(share.value * (1 - share.value) * share.design_effect / share.trials)
        ends = ((share.low, share.high), wilson(share.value, share.trials), (share.value - half, share.value + half))
        hits += [low <= true <= high for low, high in ends]
        effects.append(share.design_effect)
    ours, plain, normal = (round(float(rate), 3) for rate in hits / leagues)
    return {
        "game": game, "agents": agents, "matches": matches, "team": team, "leagues": leagues, "true": round(true, 3),
        "ours": ours, "seats_alone": plain, "normal": normal, "design_effect": round(float(np.median(effects)), 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leagues", type=int, default=2000)
    leagues = parser.parse_args().leagues
    print(json.dumps({"machine": machine()}))
    found = []
    for game, agents, matches, team in product(GAMES, (1, 2, 3, 6), (50, 500), ("larger", "smaller", "overall")):
        found.append(covered(game, agents, matches, team, leagues))
        print(json.dumps(found[-1]), flush=True)
    for name in ("ours", "seats_alone", "normal"):
        rates = [float(one[name]) for one in found]
        inside = sum(0.93 <= rate <= 0.97 for rate in rates)
        ends = {"lowest": min(rates), "highest": max(rates)}
        print(json.dumps({"interval": name, **ends, "within 93 to 97 %": inside, "of": len(rates)}))


if __name__ == "__main__":
    main()
