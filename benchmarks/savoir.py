"""Does credit by playing on find the utterances that mattered, and how far off is it?

`error`: 20 made-up games x 5 seeds, n = 10 and 16, pairwise, saturating (0 to 10) and prefix-dependent, J = 2
rollouts with unit noise, the default budget: relative L2 error of `savoir` beside SAVOIR's appendix D, its section 3.4,
paired KernelSHAP (which is shapiq's), and shapiq's other approximators.
`threshold`: 20 weighted majority games (more than half of uniform weights wins all) x 3 seeds, n = 7, 8 and 10,
without noise and with J = 2 rollouts: relative L2 error, and the share of 95 % intervals that cover the exact value.
`credit`: scripted episodes of a bundled scenario with 7 to 10 acts, of which all 2^n histories are played on: the exact
values are the truth, and each method's order of the acts is compared with them (Spearman, within an episode; a constant
answer counts 0). A partner whose demands depend on what was said to it makes words matter.

    python -m benchmarks.savoir [error] [threshold] [credit] [--episodes 300]
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.stats import spearmanr

from apportion.decompose.shapley.coalitions import Bools, all_coalitions
from apportion.decompose.shapley.value_function import NoisyValueFunction, Value
from apportion.decompose.shapley.values import by_prefix, default_budget, shapley_values, without_each
from apportion.environments.rollout import Rollouts, RolloutUtility
from apportion.foundation.arrays import Floats
from benchmarks.measure import tell
from benchmarks.savoir_episodes import reopened

GAMES, SEEDS, ROLLOUTS = 20, 5, 2
SAMPLINGS = ("kriged", "appendix-d", "extreme-first", "paired")
PEERS = ("KernelSHAP", "SVARM", "PermutationSamplingSV", "UnbiasedKernelSHAP")
"""Approximators of shapiq; its KernelSHAP without pairs."""


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
    weights = np.array([1.0 / (players * math.comb(players - 1, size)) for size in range(players)])
    values = np.empty(players)
    for player in range(players):
        without = numbers[(numbers >> player) & 1 == 0]
        values[player] = np.sum(weights[sizes[without]] * (table[without | (1 << player)] - table[without]))
    return values


def noisy(table: Floats, noise: float, seed: int) -> Callable[[frozenset[int]], Floats]:
    """A game that is looked up, with ROLLOUTS numbers of this noise for each coalition."""
    rng = np.random.default_rng(seed)
    return lambda coalition: table[sum(1 << i for i in coalition)] + noise * rng.normal(size=ROLLOUTS)


def measure_error() -> None:
    """Print the relative L2 error of each way of drawing coalitions, and ours as a share of the others'."""
    for players in (10, 16):
        members = all_coalitions(players).astype(float)
        for kind in (pairwise, saturating, prefix_dependent):
            errors: dict[str, list[float]] = {sampling: [] for sampling in (*SAMPLINGS, *PEERS)}
            for number in range(GAMES):
                table = kind(members, np.random.default_rng(number))
                true = exact(table, players)
                for seed in range(SEEDS):
                    for sampling in SAMPLINGS:
                        value = noisy(table, 1.0, 1000 * number + seed)
                        ours = repeated(value) if sampling == "kriged" else value
                        found = shapley_values(ours, players, sampling=sampling, seed=seed).values
                        errors[sampling].append(np.linalg.norm(found - true) / np.linalg.norm(true))
                    for peer in PEERS:
                        found = by_shapiq(peer, noisy(table, 1.0, 1000 * number + seed), players, seed)
                        errors[peer].append(np.linalg.norm(found - true) / np.linalg.norm(true))
            means = {sampling: float(np.mean(of)) for sampling, of in errors.items()}
            shares = {f"of {s}": round(means["kriged"] / means[s], 3) for s in SAMPLINGS[1:]}
            others = {s: round(means[s], 4) for s in means if s != "kriged"}
            tell(f"savoir error, {kind.__name__}, n = {players}", means["kriged"], "relative L2", **others, **shares)


def measure_threshold() -> None:
    """Print error and coverage where a coalition wins all or nothing."""
    for players, noise in itertools.product((7, 8, 10), (0.0, 0.3)):
        members = all_coalitions(players).astype(float)
        errors: dict[str, list[float]] = {sampling: [] for sampling in SAMPLINGS}
        covered: dict[str, list[float]] = {sampling: [] for sampling in SAMPLINGS}
        for number, seed in itertools.product(range(GAMES), range(3)):
            weights = np.random.default_rng(number).random(players)
            table = (members @ weights > weights.sum() / 2).astype(float)
            true = exact(table, players)
            for sampling in SAMPLINGS:
                drawn = noisy(table, noise, 1000 * number + seed)
                value = drawn if noise else (lambda coalition, of=drawn: float(of(coalition)[0]))
                asked = repeated(value) if sampling == "kriged" and noise else value
                found = shapley_values(asked, players, sampling=sampling, seed=seed)
                errors[sampling].append(float(np.linalg.norm(found.values - true) / np.linalg.norm(true)))
                covered[sampling].append(
                    float((abs(found.values - true) <= 1.96 * found.standard_errors + 1e-9).mean())
                )
        means = {sampling: round(float(np.mean(of)), 4) for sampling, of in errors.items()}
        shares = {sampling: round(float(np.mean(of)), 3) for sampling, of in covered.items()}
        tell(
            f"savoir threshold, n = {players}, noise {noise:g}", means["kriged"], "relative L2", **means, covered=shares
        )


def repeated(value: Value) -> NoisyValueFunction:
    """The same game, whose noise is another each time."""
    return NoisyValueFunction(lambda asked: [value(coalition) for coalition, _ in asked])


def by_shapiq(name: str, value: Value, players: int, seed: int) -> Floats:
    """What an approximator of shapiq says at the same budget; the same coalition is worth the same when asked again."""
    import shapiq.approximator

    known: dict[bytes, float] = {}

    def game(members: Bools) -> Floats:
        rows = np.atleast_2d(np.asarray(members, dtype=bool))
        for row in rows:
            if row.tobytes() not in known:
                known[row.tobytes()] = float(np.mean(value(frozenset(np.flatnonzero(row).tolist()))))
        return np.array([known[row.tobytes()] for row in rows])

    unpaired = {"pairing_trick": False} if name == "KernelSHAP" else {}
    approximator = getattr(shapiq.approximator, name)(players, random_state=seed, **unpaired)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found: Floats = approximator.approximate(default_budget(players), game).get_n_order_values(1)
    return found


def credit_of(table: Floats, hindsight: Floats, players: int, noise: float, seed: int) -> dict[str, Floats]:
    """What each method says of one episode, from the worth of its histories."""
    game, stands = partial(noisy, table, noise), noisy(hindsight, 0.0, seed)
    budget = default_budget(players)
    return {
        "savoir": shapley_values(repeated(game(seed)), players, budget=budget, seed=seed).values,
        "savoir-paper": shapley_values(game(seed), players, sampling="appendix-d", seed=seed).values,
        "leave-one-out": without_each(game(seed), players).values,
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
    for opened, target, turns in reopened(count):
        rollouts = Rollouts(opened, target, turns, RolloutUtility({"GOAL": 1.0}), rollouts=2)
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


def main() -> None:
    """Measure what is named, everything where nothing is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], "error", "threshold", "credit"])
    parser.add_argument("--episodes", type=int, default=300)
    given = parser.parse_args()
    parts = given.parts or ["error", "threshold", "credit"]
    if "error" in parts:
        measure_error()
    if "threshold" in parts:
        measure_threshold()
    if "credit" in parts:
        measure_credit(given.episodes)


if __name__ == "__main__":
    main()
