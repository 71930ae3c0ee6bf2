"""Does credit by playing on find the utterances that mattered, how far off is it, and how long does it take?

`error`: 20 made-up games x 5 seeds, n = 10 and 16, pairwise, saturating (0 to 10) and prefix-dependent, J = 2
rollouts with unit noise, the default budget: relative L2 error of the paired estimator beside SAVOIR's appendix D and
its section 3.4.
`credit`: scripted episodes of a bundled scenario with 7 to 10 acts, of which all 2^n histories are played on: the exact
values are the truth, and each method's order of the acts is compared with them (Spearman, within an episode; a constant
answer counts 0). A partner whose demands depend on what was said to it makes words matter.
`speed`: `savoir` on a scripted episode of 10 acts, 122 coalitions, J = 2.

    python benchmarks/savoir.py [error] [credit] [speed] [--episodes 300]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

import numpy as np
from scipy.stats import spearmanr

from benchmarks.measure import tell
from corpus.session import Episode, Rating, Turn
from decompose.judging.savoir import savoir
from decompose.settings import DecomposeSettings
from decompose.shapley.coalitions import all_coalitions
from decompose.shapley.marginal import by_prefix, leave_one_out
from decompose.shapley.values import default_budget, shapley_values
from environments.acts import Act
from environments.core import View
from environments.play import play
from environments.reopened import Reopened
from environments.rollout import Rollouts, Utility
from environments.sotopia.game import Rules, Sotopia
from environments.sotopia.observation import LEAVE, SPEAK
from environments.sotopia.scripts import Conceding, worded
from environments.sotopia.sources import bundled_tasks
from environments.sotopia.terms import PHYSICAL, Offers
from foundation.arrays import Floats

GAMES, SEEDS, ROLLOUTS = 20, 5, 2
SAMPLINGS = ("paired", "appendix-d", "extreme-first")
WARM, COLD, CHAT = "I like how you think.", "You waste my time.", "I see."


def pairwise(members: Floats, rng: np.random.Generator) -> Floats:
    """Each player's own worth, and one of each pair."""
    players = members.shape[1]
    pairs = np.triu(rng.normal(size=(players, players)), 1) / np.sqrt(players)
    return members @ rng.normal(size=players) + np.einsum("ki,ij,kj->k", members, pairs, members)


def saturating(members: Floats, rng: np.random.Generator) -> Floats:
    """From 0 to 10, as GOAL: what the first acts reach the later ones cannot add."""
    players = members.shape[1]
    return 10 * (1 - np.exp(-members @ rng.exponential(3 / players, size=players)))


def prefix_dependent(members: Floats, rng: np.random.Generator) -> Floats:
    """Own worths, and what is added where everything up to an act was said: groundwork."""
    players = members.shape[1]
    whole = np.cumprod(members, axis=1)
    return members @ rng.normal(size=players) + whole @ rng.normal(size=players)


def exact(table: Floats, players: int) -> Floats:
    """Eq. 4 of SAVOIR over the worth of all 2^n coalitions, numbered by their members' bits."""
    numbers = np.arange(2**players)
    sizes = all_coalitions(players).sum(axis=1)
    weights = np.array([1.0 / (players * _choose(players - 1, size)) for size in range(players)])
    values = np.empty(players)
    for player in range(players):
        without = numbers[(numbers >> player) & 1 == 0]
        values[player] = np.sum(weights[sizes[without]] * (table[without | (1 << player)] - table[without]))
    return values


def _choose(n: int, k: int) -> float:
    return float(np.prod([(n - i) / (i + 1) for i in range(k)]))


def noisy(table: Floats, noise: float, seed: int) -> Callable[[frozenset[int]], Floats]:
    """A game that is looked up, with ROLLOUTS numbers of this noise for each coalition."""
    rng = np.random.default_rng(seed)
    return lambda coalition: table[sum(1 << i for i in coalition)] + noise * rng.normal(size=ROLLOUTS)


def measure_error() -> None:
    """Print the relative L2 error of each way of drawing coalitions, and ours as a share of the others'."""
    for players in (10, 16):
        members = all_coalitions(players).astype(float)
        for kind in (pairwise, saturating, prefix_dependent):
            errors = {sampling: [] for sampling in SAMPLINGS}
            for number in range(GAMES):
                table = kind(members, np.random.default_rng(number))
                true = exact(table, players)
                for seed in range(SEEDS):
                    for sampling in SAMPLINGS:
                        value = noisy(table, 1.0, 1000 * number + seed)
                        found = shapley_values(value, players, sampling=sampling, seed=seed).values
                        errors[sampling].append(np.linalg.norm(found - true) / np.linalg.norm(true))
            means = {sampling: float(np.mean(of)) for sampling, of in errors.items()}
            shares = {f"of {s}": round(means["paired"] / means[s], 3) for s in SAMPLINGS[1:]}
            others = {s: round(means[s], 4) for s in SAMPLINGS[1:]}
            tell(f"savoir error, {kind.__name__}, n = {players}", means["paired"], "relative L2", **others, **shares)


def _standing(view: View) -> Offers:
    facts = view.facts
    offers = Offers(facts.part.terms.deal, len(facts.part.profiles))
    for by, act in facts.acts:
        offers.take(by, act)
    return offers


@dataclass(frozen=True)
class Talking:
    """Draws warm, cold and empty words; from step ``closing`` on it asks for much and takes what it is offered."""

    closing: int
    called: str = "talking"
    paid: bool = False

    def act(self, view: View) -> Act:
        """The next act."""
        facts = view.facts
        offers, seat, deal = _standing(view), facts.part.seat, facts.part.terms.deal
        if offers.agreed:
            return Act(LEAVE)
        if offers.standing is not None and offers.standing.by != seat:
            return Act(PHYSICAL, "accept")
        if view.step >= self.closing:
            return Act(PHYSICAL, f"offer: {worded(deal, 0.95)}")
        return Act(SPEAK, view.draws.choice((WARM, WARM, COLD, CHAT)))


@dataclass(frozen=True)
class Moody:
    """Answers an offer by one that is the better the kinder the words were: each warm one counts less, a cold one after
    warm ones more."""

    called: str = "moody"
    paid: bool = False

    def act(self, view: View) -> Act:
        """The next act."""
        facts = view.facts
        offers, seat, deal = _standing(view), facts.part.seat, facts.part.terms.deal
        if offers.agreed:
            return Act(LEAVE)
        if offers.standing is None:
            return Act(SPEAK, CHAT)
        mood, warm = 0.0, 0
        for act in (act for by, act in facts.acts if by != seat):
            mood += 0.8**warm if act.text == WARM else -0.5 * (1 + 0.5 * warm) if act.text == COLD else 0.0
            warm += act.text == WARM
        return Act(PHYSICAL, f"offer: {worded(deal, 1 / (1 + np.exp(0.5 * mood)))}")


def episodes() -> Iterator[tuple[Reopened, str, tuple[int, ...]]]:
    """Endless: played episodes in which the first character has 7 to 10 acts."""
    task = next(task for task in bundled_tasks.tasks(pairs=1) if task.scenario.name == "used_bicycle")
    seed = 0
    while True:
        seed += 1
        game = Sotopia(task, Rules(most_acts=20))
        game.reset(seed)
        begun = game.clone()
        agents = dict(zip(game.agents, (Talking(closing=10 + 2 * (seed % 4)), Moody()), strict=True))
        play(game, agents)
        reopened = Reopened(f"s{seed}", begun, tuple(game.steps), agents)
        turns = reopened.turns_of(game.agents[0])
        assert 7 <= len(turns) <= 10, (seed, len(turns))
        yield reopened, game.agents[0], turns


def credit_of(table: Floats, hindsight: Floats, players: int, noise: float, seed: int) -> dict[str, Floats]:
    """What each method says of one episode, from the worth of its histories."""
    game, stands = partial(noisy, table, noise), noisy(hindsight, 0.0, seed)
    budget = default_budget(players)
    return {
        "savoir": shapley_values(game(seed), players, budget=budget, seed=seed).values,
        "savoir-paper": shapley_values(game(seed), players, sampling="appendix-d", seed=seed).values,
        "leave-one-out": leave_one_out(game(seed), players).values,
        "expected-utility": by_prefix(game(seed), players).values,
        "shapley-hindsight": shapley_values(stands, players, budget=budget, seed=seed).values,
        "uniform": np.zeros(players),
    }


def _order(found: Floats, true: Floats) -> float:
    rounded = found.round(9)
    return 0.0 if np.ptp(rounded) == 0 else float(spearmanr(rounded, true.round(9)).statistic)


def measure_credit(count: int) -> None:
    """Print the mean Spearman of each method with the exact values, and ours less each other's (paired bootstrap)."""
    orders: dict[float, dict[str, list[float]]] = {0.0: {}, 1.0: {}}
    made, flat = 0, 0
    for reopened, target, turns in episodes():
        if made == count:
            break
        rollouts = Rollouts(reopened, target, turns, Utility({"GOAL": 1.0}), rollouts=2)
        coalitions = [frozenset(np.flatnonzero(row).tolist()) for row in all_coalitions(len(turns))]
        table = np.array([np.mean(rollouts.played_on(coalition)) for coalition in coalitions])
        true = exact(table, len(turns))
        if np.ptp(true) < 1e-9:
            flat += 1
            continue
        made += 1
        hindsight = np.array([rollouts.as_it_stands(coalition) for coalition in coalitions])
        for noise, of_noise in orders.items():
            for name, found in credit_of(table, hindsight, len(turns), noise, made).items():
                of_noise.setdefault(name, []).append(_order(found, true))
    rng = np.random.default_rng(0)
    drawn = rng.integers(made, size=(2000, made))
    for noise, of_noise in orders.items():
        ours = np.array(of_noise["savoir"])
        for name, each in of_noise.items():
            gain = (ours - np.array(each))[drawn].mean(axis=1)
            low, high = np.quantile(gain, (0.025, 0.975)).round(3).tolist()
            more = {"episodes": made, "left_out_flat": flat, "savoir_gains": [low, high]}
            tell(f"credit, {name}, noise {noise:g}", float(np.mean(each)), "Spearman", **more)


def measure_speed() -> None:
    """Print the seconds that `savoir` takes for ten acts, once what it imports is loaded."""
    game = Sotopia(bundled_tasks.tasks()[0], Rules(most_acts=20))
    game.reset(1)
    begun = game.clone()
    agents = dict(zip(game.agents, (Conceding(10), Conceding(11)), strict=True))
    play(game, agents)
    reopened = Reopened("s1", begun, tuple(game.steps), agents)
    turns = tuple(Turn(i, move.agent, str(game.said(move))) for i, (move,) in enumerate(game.steps))
    episode = Episode("s1", turns, Rating("environment", game.agents[0], "GOAL", 4.0, 0.0, 10.0))
    settings = DecomposeSettings(methods=("savoir",))
    seconds = []
    for _ in range(6):
        started = time.perf_counter()
        found = savoir(episode, None, settings, None, reopened)  # type: ignore[arg-type]
        seconds.append(time.perf_counter() - started)
    tell("savoir, 10 acts", float(np.median(seconds[1:])), "s", first=round(seconds[0], 2), rests_on=found[0].rationale)


def main() -> None:
    """Measure what is named, everything where nothing is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], "error", "credit", "speed"])
    parser.add_argument("--episodes", type=int, default=300)
    given = parser.parse_args()
    parts = given.parts or ["error", "credit", "speed"]
    if "error" in parts:
        measure_error()
    if "credit" in parts:
        measure_credit(given.episodes)
    if "speed" in parts:
        measure_speed()


if __name__ == "__main__":
    main()
