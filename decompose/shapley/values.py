"""Shapley values: each player's average marginal contribution to what a coalition is worth (SAVOIR, Eq. 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.stats import f as f_distribution

from apportion.decompose.shapley.coalitions import (
    Bools,
    Coalitions,
    all_coalitions,
    appendix_d,
    complements,
    extreme_first,
    kernel_weight,
    marginal_weights,
    paired,
    with_complements,
)
from apportion.decompose.shapley.kriging import krige
from apportion.decompose.shapley.value_function import NoisyValueFunction, Value, ValueFunction, ask
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError

Sampling = Literal["kriged", "paired", "extreme-first", "appendix-d"]

RESAMPLES = 200
MORE = 3
"""Further times that no player and all are asked about, of which v(all) - v(none) is made: of 122 or 200 coalitions,
about as many as make the values' noise least."""


NEARLY = 1.5
"""All coalitions are asked about where these are at most so many times the budget."""
FIRST = 0.4
"""The part of the pairs that is asked about before it is known whether one half of a pair tells the other."""
ALIKE = 0.5
"""Sums of pairs are taken for equal where noise alone sets them further apart in half of all draws."""


class InsufficientBudgetError(InputError):
    """The coalitions that were drawn do not tell the players apart; others would."""


@dataclass(frozen=True, eq=False)
class ShapleyValues:
    """The values of n players, and how they were come by.

    ``values`` float64 [n]: In units of the game. They sum to ``whole - empty``. ``standard_errors`` float64 [n]: In the
    same units: of the rollouts' noise and, where coalitions were drawn, of the draw. 0 where everything was computed
    and each coalition had one number: nothing tells then how noisy that number is. ``empty``, ``whole``: v of no player
    and of all. ``estimator``: ``exact``, or how coalitions were sampled for KernelSHAP. ``budget``, ``calls``:
    Coalitions that might be asked for, and those that were. ``seed``: Of the draw of coalitions and of the bootstrap.
    """

    values: Floats
    standard_errors: Floats
    empty: float
    whole: float
    estimator: str
    budget: int
    calls: int
    seed: int


def default_budget(players: int, sampling: Sampling = "kriged") -> int:
    """min(12n + 2, 200) coalitions (SAVOIR, appendix D): up to n = 6 all; ``kriged`` takes all of n = 7, too (128)."""
    allowed = min(12 * players + 2, 200)
    return 2**players if sampling == "kriged" and allowed < 2**players <= NEARLY * allowed else allowed


def check_players(players: int) -> None:
    """Refuse a game with fewer players than none.

    Raises InputError: Players below 0.
    """
    if players < 0:
        raise InputError(f"players = {players}: a game has 0 or more players.")


def shapley_values(
    value: Value,
    players: int,
    *,
    budget: int | None = None,
    sampling: Sampling = "kriged",
    seed: int = 0,
    drawn_alike: bool = False,
) -> ShapleyValues:
    """Credit n players for v(all) - v(none) by Eq. 4 of SAVOIR: exactly, or as well as a budget allows.

    Exact where all 2^n coalitions are within the budget, so with the default one for n <= 7. Beyond, ``kriged``
    (`apportion.decompose.shapley.kriging`), or for comparison KernelSHAP (Lundberg and Lee, 2017; Eq. 5 and 6 of
    SAVOIR): the weighted least-squares fit of v(S) - v(none) by the sum of the values of S, under the constraint that
    all values sum to v(all) - v(none).

    ``value``: v(S), see `Value`; asked once for each coalition. Of a `NoisyValueFunction` ``kriged`` asks about no
    player and all `MORE` times more, whose noise every value has a part of. ``players``: n, at least 0. ``budget``:
    Coalitions that may be asked for; `default_budget` where None. ``sampling``: ``kriged``: the draws of ``paired``,
    fitted with the interactions and the noise that they show. ``paired``: drawn by shapiq, each with its complement,
    and reweighted for the draw. ``extreme-first``: the smallest and largest coalitions first (SAVOIR, section 3.4), an
    error that no standard error shows. ``appendix-d``: as SAVOIR's experiments had it; extreme sizes count twice.
    ``seed``: Of the draw and the bootstrap. ``drawn_alike``: Whether rollout j of every coalition draws the same random
    numbers; standard errors know it.

    Examples
    --------
    Two turns, either of which is worth 1.2 by itself, and both together 1.8:

    >>> found = shapley_values(lambda said: {0: 0.0, 1: 1.2, 2: 1.8}[len(said)], players=2)
    >>> found.values.round(6).tolist(), found.estimator
    ([0.9, 0.9], 'exact')

    Raises InputError: Players below 0, an unknown sampling, or a budget too small to tell the players apart. Raises
    UnitError: A coalition's value is not finite, or no value at all.
    """
    check_players(players)
    if sampling not in get_args(Sampling):
        raise InputError(f"sampling = {sampling!r}; allowed are {', '.join(map(repr, get_args(Sampling)))}.")
    allowed = default_budget(players, sampling) if budget is None else budget
    if players <= math.log2(max(allowed, 1)):
        return _exact(value, players, allowed, seed, drawn_alike)
    if allowed < 2 * players + 2:
        raise InputError(
            f"budget = {allowed} coalitions for {players} players; KernelSHAP needs 2n + 2 = {2 * players + 2} or more "
            "to tell them apart. Give a larger budget, or credit several turns as one player."
        )
    if sampling == "kriged":
        return _by_kriging(value, players, allowed, seed, drawn_alike)
    return _by_kernel(value, players, allowed, sampling, seed, drawn_alike)


def _by_kriging(value: Value, players: int, allowed: int, seed: int, drawn_alike: bool) -> ShapleyValues:
    """Pairs of complements, fitted with their interactions; no player and all are asked about more often.

    Where the first of them show that a coalition and its complement always add up to the same, as where what some win
    the others lose, one of each further pair is asked about, and twice as many of them.
    """
    more = MORE if isinstance(value, NoisyValueFunction) and allowed >= 2 * (players + 1 + MORE) else 0
    left = allowed - 2 * more
    pairs, source = _pairs(players, left, seed)
    _check_rank(with_complements(pairs), players)
    begun = pairs[: max(players + 2, math.ceil(FIRST * len(pairs)))]
    members, further = with_complements(begun), with_complements(pairs[len(begun) :])
    worth = ask(value, members, drawn_alike=drawn_alike, more=more)
    if _adds_up(members, worth):
        known = {pair.tobytes() for pair in begun}
        others = [pair for pair in _pairs(players, min(2 * left, 2**players), seed)[0] if pair.tobytes() not in known]
        halves = np.array(others[: left - 2 * len(begun)], dtype=bool).reshape(-1, players)
        halves[::2] = ~halves[::2]
        if _tells_apart(np.vstack([members, halves]), players):
            further = halves
    if len(further):
        worth = worth.with_more(ask(value, further, drawn_alike=drawn_alike))
        members = np.vstack([members[:-1], further, members[-1:]])
    values, errors, told_by = _kriged(members, worth, 1 + more)
    return result(values, errors, worth, f"kriged from {told_by} ({source})", allowed, seed)


def _pairs(players: int, budget: int, seed: int) -> tuple[Bools, str]:
    """One coalition (P, n) of each pair that a budget allows, that of all first, and what drew them.

    In the order of a draw that prefers extreme sizes (Efraimidis and Spirakis, 2006), so that any first part is one.
    """
    drawn = paired(players, budget, seed)
    pairs = drawn.members[complements(drawn.members)[0]]
    weights = np.array(
        [kernel_weight(players, int(size)) if size < players else math.inf for size in pairs.sum(axis=1)]
    )
    return pairs[np.argsort(np.random.default_rng(seed).exponential(size=len(pairs)) / weights)], drawn.source


def _adds_up(members: Bools, worth: ValueFunction) -> bool:
    """Whether v of a coalition and of its complement have one sum, as far as the noise tells."""
    first, second = complements(members)
    sums = np.zeros((len(first), len(members)))
    sums[np.arange(len(first)), first] = sums[np.arange(len(first)), second] = 1.0
    apart = sums - sums.mean(axis=0)
    off = float(np.sum((apart @ worth.means) ** 2))
    rounding = 1e-18 * float(np.sum(worth.means**2))
    if worth.fewest == 1:
        return off <= rounding
    freedom = len(apart) - 1
    most = float(f_distribution.ppf(ALIKE, freedom, freedom * (worth.fewest - 1)))
    return off <= most * float(worth.variances_of(apart).sum()) + rounding


def _by_kernel(
    value: Value, players: int, allowed: int, sampling: Sampling, seed: int, drawn_alike: bool
) -> ShapleyValues:
    """KernelSHAP on coalitions that are drawn in one of its three ways."""
    rng = np.random.default_rng(seed)
    drawn = _drawn(sampling, players, allowed, seed, rng)
    worth = ask(value, drawn.members, drawn_alike=drawn_alike)
    _check_rank(drawn.members, players)
    fit = _fit(drawn.members, drawn.weights, players)
    spread = _bootstrap(drawn, worth.means, players, rng)
    errors = np.sqrt(worth.variance_of(fit, ~drawn.sampled) + spread**2)
    name = f"KernelSHAP, {sampling}" + (f" ({drawn.source})" if drawn.source else "")
    return result(fit @ worth.means, errors, worth, name, allowed, seed)


def _kriged(members: Bools, worth: ValueFunction, times: int) -> tuple[Floats, Floats, str]:
    """Values and standard errors (n,), and what of, of coalitions of which none and all were asked about so many
    ``times``; those whose complement was not asked about are told by what pairs add up to."""
    first, second = complements(members)
    alone = np.setdiff1d(np.arange(len(members)), np.concatenate([first, second]))
    odd = np.zeros((len(first) + len(alone), len(members)))
    odd[np.arange(len(first)), first], odd[np.arange(len(first)), second] = 0.5, -0.5
    odd[len(first) :, np.concatenate([first, second])] = -0.5 / len(first)
    odd[np.arange(len(first), len(odd)), alone] = 1.0
    one_half = members[np.concatenate([first, alone])]
    noise = None
    if worth.fewest > 1:
        noise, ends = worth.variances_of(odd), one_half.all(axis=1)
        of_pairs = np.arange(len(odd)) < len(first)
        for group in (of_pairs & ~ends, ~of_pairs):
            noise[group] = noise[group].mean() if group.any() else 0.0
        noise[ends] = noise[of_pairs & ~ends].mean() / times
    fitted = krige(one_half, odd @ worth.means, noise)
    linear = fitted.linear @ odd
    errors = np.sqrt(fitted.structure + worth.variances_of(linear))
    told_by = f"{len(first)} pairs" + (f" and {len(alone)} of one half" if len(alone) else "")
    return linear @ worth.means, errors, told_by


def result(
    values: Floats, errors: Floats, worth: ValueFunction, estimator: str, budget: int, seed: int
) -> ShapleyValues:
    """``values`` and their standard ``errors`` (n,) of a game whose first coalition is of none, the last of all."""
    return ShapleyValues(
        values=values,
        standard_errors=errors,
        empty=float(worth.means[0]),
        whole=float(worth.means[-1]),
        estimator=estimator,
        budget=budget,
        calls=worth.calls,
        seed=seed,
    )


def _drawn(sampling: Sampling, players: int, budget: int, seed: int, rng: np.random.Generator) -> Coalitions:
    if sampling == "paired":
        return paired(players, budget, seed)
    return (extreme_first if sampling == "extreme-first" else appendix_d)(players, budget, rng)


def _exact(value: Value, players: int, budget: int, seed: int, drawn_alike: bool) -> ShapleyValues:
    members = all_coalitions(players)
    worth = ask(value, members, drawn_alike=drawn_alike)
    if not players:
        return result(np.zeros(0), np.zeros(0), worth, "exact", budget, seed)
    linear = marginal_weights(members)
    errors = np.sqrt(worth.variances_of(linear))
    return result(linear @ worth.means, errors, worth, "exact", budget, seed)


def _fit(members: Bools, weights: Floats, players: int) -> Floats:
    """The linear map (n, K) from v of the coalitions to the values: Eq. 5 of SAVOIR under the sum's constraint.

    With phi = D/n + B u, where D = v(all) - v(none) and the columns of B (n, n - 1) sum to 0, least squares in u has
    no constraint left.
    """
    inner = members[1:-1].astype(np.float64)
    share = inner.sum(axis=1) / players
    basis = np.linalg.svd(np.ones((1, players)))[2][1:].T
    root = np.sqrt(weights / weights.sum())[:, None]
    design = root * (inner @ basis)
    slopes = basis @ np.linalg.solve(design.T @ design, (root * design).T)  # (n, K - 2)
    of_whole = 1 / players - slopes @ share
    of_empty = -1 / players + slopes @ (share - 1.0)
    return np.column_stack([of_empty, slopes, of_whole])


def _tells_apart(members: Bools, players: int) -> bool:
    inner = members[~(members.all(axis=1) | ~members.any(axis=1))].astype(np.float64)
    return bool(np.linalg.matrix_rank(inner - inner.mean(axis=1, keepdims=True)) >= players - 1)


def _check_rank(members: Bools, players: int) -> None:
    if not _tells_apart(members, players):
        raise InsufficientBudgetError(
            f"{len(members)} coalitions do not tell {players} players apart. Give a larger budget than "
            f"{len(members)}, or another seed."
        )


def _bootstrap(drawn: Coalitions, means: Floats, players: int, rng: np.random.Generator) -> Floats:
    """Standard deviation (n,) of the values when the draws (a coalition and its complement are one) are weighted anew.

    A Bayesian bootstrap (Rubin, 1981): weights from a gamma distribution rather than counts, so that every refit can
    tell the players apart.
    """
    if not drawn.sampled.any():
        return np.zeros(players)
    inner = drawn.sampled[1:-1]
    groups, counts = drawn.groups[inner], drawn.counts[inner]
    times = np.ones(int(groups.max()) + 1)
    np.maximum.at(times, groups, counts)
    refits = np.empty((RESAMPLES, players))
    for row in range(RESAMPLES):
        weights = drawn.weights.copy()
        weights[inner] *= (rng.gamma(times) / times)[groups]
        refits[row] = _fit(drawn.members, weights, players) @ means
    return np.asarray(refits.std(axis=0, ddof=1))


def without_each(value: Value, players: int, *, drawn_alike: bool = False) -> ShapleyValues:
    """v(all) less v(all but i): n + 1 coalitions. What two players have in common counts for neither, or for both.

    >>> without_each(lambda said: float(bool(said)), 2).values.tolist()
    [0.0, 0.0]

    Raises InputError: Players below 0. UnitError: A coalition's value is not finite.
    """
    check_players(players)
    members = np.vstack([np.zeros((1, players)), 1 - np.eye(players), np.ones((1, players))]).astype(bool)
    linear = np.hstack([np.zeros((players, 1)), -np.eye(players), np.ones((players, 1))])
    return _linear(value, members, linear, "leave-one-out", drawn_alike)


def by_prefix(value: Value, players: int, *, drawn_alike: bool = False) -> ShapleyValues:
    """v of the first i players less v of the first i - 1 (SAVOIR's expected utility without its Shapley values).

    n + 1 coalitions; the values sum to v(all) - v(none).

    >>> by_prefix(lambda said: float(bool(said)), 2).values.tolist()
    [1.0, 0.0]

    Raises InputError: Players below 0. UnitError: A coalition's value is not finite.
    """
    check_players(players)
    members = np.tri(players + 1, players, -1, dtype=bool)
    linear = np.eye(players, players + 1, 1) - np.eye(players, players + 1)
    return _linear(value, members, linear, "prefix by prefix", drawn_alike)


def _linear(value: Value, members: np.ndarray, linear: np.ndarray, name: str, drawn_alike: bool) -> ShapleyValues:
    worth = ask(value, members, drawn_alike=drawn_alike)
    errors = np.sqrt(worth.variances_of(linear))
    return result(linear @ worth.means, errors, worth, name, len(members), 0)
