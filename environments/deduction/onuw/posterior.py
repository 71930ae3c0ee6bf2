"""Who has the Werewolf's card at dawn, exactly: every night of every deal, weighted by what was seen and claimed.

The prior: every deal as probable as every other, every choice of the night as probable as every other of its role. The
model of a claim (`likelihood`): who believes to be of the village tells the truth but for a share of `SLIP`, who
believes to have the Werewolf's card claims any innocent night, each as probable as the others. Under this model the
posterior is Bayes' rule over all worlds, with nothing sampled. The centre's cards have no order here: they are only
ever looked at together, so that one of two deals that differ in it is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion.environments.deduction.onuw.claims import Claim, all_accounts
from apportion.environments.deduction.onuw.rules import (
    CENTRE,
    PLAYERS,
    WEREWOLF,
    ClaimedHistory,
    all_deals,
    nights_of,
)

SLIP = 0.05
"""Of the villagers' claims that are not the truth: they forget, or have a reason to bluff."""

Floats = NDArray[np.float64]


class PossibleWorlds(NamedTuple):
    """W nights with their deals.

    ``prior``: (W,), adds up to 1. ``lived``: (seats, W), by seat the number of its account in `all_accounts`.
    ``wolf``: (W,), the seat that has the Werewolf's card at dawn.
    """

    prior: Floats
    lived: NDArray[np.intp]
    wolf: NDArray[np.intp]

    def of(self, chosen: NDArray[np.intp]) -> PossibleWorlds:
        """Some of them; their prior is not made to add up to 1."""
        return PossibleWorlds(self.prior[chosen], np.ascontiguousarray(self.lived[:, chosen]), self.wolf[chosen])


@lru_cache(maxsize=1)
def worlds() -> PossibleWorlds:
    """All of them; made once (about a second)."""
    numbers = [{account: number for number, account in enumerate(all_accounts(seat))} for seat in range(PLAYERS)]
    prior, lived, wolf = [], [], []
    for deal in all_deals():
        first, second = (deal[place] for place in CENTRE)
        if first > second:
            continue
        same = 1.0 if first == second else 2.0
        nights = list(nights_of(deal))
        for world in nights:
            prior.append(same / len(nights))
            lived.append([numbers[seat][account] for seat, account in enumerate(world.accounts)])
            wolf.append(world.night.cards.index(WEREWOLF))
    weights = np.array(prior)
    return PossibleWorlds(weights / weights.sum(), np.ascontiguousarray(np.array(lived).T), np.array(wolf))


@lru_cache
def believes_wolf(seat: int) -> NDArray[np.bool_]:
    """By account of a seat, whether its player believes to have the Werewolf's card: shape (accounts,)."""
    return np.array([account.last == WEREWOLF for account in all_accounts(seat)])


@lru_cache
def likelihood(seat: int) -> Floats:
    """By what a player lived through and what it claims, the probability of the claim: shape (accounts, accounts)."""
    wolfish = believes_wolf(seat)
    count, innocent = len(wolfish), np.flatnonzero(~wolfish)
    table = np.full((count, count), SLIP / (count - 1))
    np.fill_diagonal(table, 1 - SLIP)
    table[wolfish] = SLIP / int(wolfish.sum())
    table[np.ix_(wolfish, ~wolfish)] = (1 - SLIP) / len(innocent)
    return table


@lru_cache(maxsize=PLAYERS * 64)
def _living(seat: int, lived: ClaimedHistory) -> PossibleWorlds:
    return worlds().of(np.flatnonzero(worlds().lived[seat] == all_accounts(seat).index(lived)))


@lru_cache(maxsize=1024)
def _column(seat: int, claim: Claim) -> Floats:
    """By what a player lived through the probability of its claim, of a card alone that of all claims to it."""
    accounts = all_accounts(seat)
    if isinstance(claim, ClaimedHistory):
        return likelihood(seat)[:, accounts.index(claim)]
    mass: Floats = likelihood(seat)[:, [account.role == claim.role for account in accounts]].sum(axis=1)
    return mass


def weighed(possible: PossibleWorlds, claims: Mapping[int, Claim]) -> Floats:
    """The posterior weights of worlds after what is claimed; they add up to 1: shape (W,)."""
    weights: Floats = possible.prior
    for seat, claim in claims.items():
        weights = weights * _column(seat, claim)[possible.lived[seat]]
    total: float = weights.sum()
    return weights / total


def wolf_at_dawn(claims: Mapping[int, Claim], seat: int | None = None, lived: ClaimedHistory | None = None) -> Floats:
    """By seat the probability that its player has the Werewolf's card at dawn: shape (seats,).

    ``claims``: By seat what its player claims; a seat that claims nothing says nothing. ``seat``, ``lived``: Who asks,
    and what it lived through; its own claim says nothing to itself. None: somebody who knows nothing.
    """
    if seat is None or lived is None:
        return _to_everybody(tuple(sorted(claims.items())))
    possible = _living(seat, lived)
    weights = weighed(possible, {other: claim for other, claim in claims.items() if other != seat})
    return np.bincount(possible.wolf, weights, minlength=PLAYERS).astype(np.float64)


@lru_cache(maxsize=256)
def _to_everybody(claims: tuple[tuple[int, Claim], ...]) -> Floats:
    found = np.bincount(worlds().wolf, weighed(worlds(), dict(claims)), minlength=PLAYERS).astype(np.float64)
    found.flags.writeable = False
    return found


def least_suspect(seat: int, claims: Mapping[int, Claim]) -> ClaimedHistory:
    """The claim of a seat by which somebody who knows nothing suspects it least, after what others claim."""
    everything, count = worlds(), len(all_accounts(seat))
    weights = weighed(everything, {other: claim for other, claim in claims.items() if other != seat})
    mass = np.bincount(everything.lived[seat], weights, minlength=count)
    guilty = np.bincount(everything.lived[seat], weights * (everything.wolf == seat), minlength=count)
    suspected = (guilty @ likelihood(seat)) / (mass @ likelihood(seat))
    return all_accounts(seat)[int(np.argmin(np.where(believes_wolf(seat), np.inf, suspected)))]
