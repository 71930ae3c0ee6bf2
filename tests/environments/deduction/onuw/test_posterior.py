"""The posterior beside Bayes' rule over a list of all worlds, in fractions of plain Python."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from apportion.environments.deduction.onuw.claims import Card, Claim, all_accounts
from apportion.environments.deduction.onuw.posterior import (
    SLIP,
    believes_wolf,
    least_suspect,
    likelihood,
    wolf_at_dawn,
    worlds,
)
from apportion.environments.deduction.onuw.rules import PLAYERS, WEREWOLF, ClaimedHistory, World, all_deals, nights_of

SEATS = st.integers(0, PLAYERS - 1)


@lru_cache(maxsize=2)
def every(seat: int, role: str) -> list[tuple[float, tuple[ClaimedHistory, ...], int]]:
    """All worlds in which a seat has a card, the centre's order told apart: weight, accounts, who ends as Werewolf."""
    found = []
    for deal in (deal for deal in all_deals() if deal[seat] == role):
        nights: list[World] = list(nights_of(deal))
        found += [(1 / len(nights), world.accounts, world.night.cards.index(WEREWOLF)) for world in nights]
    return found


def said(account: ClaimedHistory, claim: Claim, seat: int) -> float:
    """The probability of a claim, told again."""
    if isinstance(claim, Card):
        return sum(said(account, one, seat) for one in all_accounts(seat) if one.role == claim.role)
    guilty = [one for one in all_accounts(seat) if one.last == WEREWOLF]
    if account in guilty:
        return SLIP / len(guilty) if claim in guilty else (1 - SLIP) / (len(all_accounts(seat)) - len(guilty))
    return 1 - SLIP if claim == account else SLIP / (len(all_accounts(seat)) - 1)


def by_hand(claims: Mapping[int, Claim], seat: int, lived: ClaimedHistory) -> list[float]:
    mass = [0.0] * PLAYERS
    for weight, accounts, wolf in every(seat, lived.role):
        if accounts[seat] != lived:
            continue
        for other, claim in claims.items():
            if other != seat:
                weight *= said(accounts[other], claim, other)
        mass[wolf] += weight
    return [one / sum(mass) for one in mass]


@given(st.data())
@settings(max_examples=3, deadline=None, phases=(Phase.generate,))  # an example takes too long to shrink it
def test_the_posterior_is_bayes_rule_over_all_worlds(data: st.DataObject) -> None:
    seat = data.draw(SEATS)
    lived = data.draw(st.sampled_from(all_accounts(seat)))
    claiming = data.draw(st.sets(SEATS, max_size=3))
    claims: dict[int, Claim] = {other: data.draw(st.sampled_from(all_accounts(other))) for other in claiming}
    claims |= {other: Card(claims[other].role) for other in sorted(claiming)[:1]}
    np.testing.assert_allclose(wolf_at_dawn(claims, seat, lived), by_hand(claims, seat, lived), rtol=1e-9)


def test_a_card_alone_says_less_than_a_night_without_an_act() -> None:
    night = wolf_at_dawn({1: ClaimedHistory("robber")}, 0, ClaimedHistory("villager"))
    card = wolf_at_dawn({1: Card("robber")}, 0, ClaimedHistory("villager"))
    assert (
        night[1] != pytest.approx(card[1])
        and wolf_at_dawn({1: ClaimedHistory("robber")})[1] != wolf_at_dawn({1: Card("robber")})[1]
    )


def test_who_knows_nothing_suspects_everybody_the_same() -> None:
    np.testing.assert_allclose(wolf_at_dawn({}), np.full(PLAYERS, 1 / PLAYERS), rtol=1e-12)
    assert worlds().prior.sum() == pytest.approx(1)


def test_claims_are_probabilities() -> None:
    for seat in range(PLAYERS):
        np.testing.assert_allclose(likelihood(seat).sum(axis=1), 1)
        assert likelihood(seat).min() > 0
        assert believes_wolf(seat).sum() == 1 + 4 + 1  # dealt it, took it from one of four, woke up with it


def test_the_least_suspect_claim_is_innocent_and_no_other_is_suspected_less() -> None:
    claims = {
        1: ClaimedHistory("villager"),
        2: ClaimedHistory("villager"),
        3: ClaimedHistory("robber", (1,), ("villager",)),
    }
    chosen = least_suspect(0, claims)
    assert chosen.last != WEREWOLF
    least = wolf_at_dawn({**claims, 0: chosen})[0]
    for claim in all_accounts(0):
        if claim.last != WEREWOLF:
            assert wolf_at_dawn({**claims, 0: claim})[0] >= least - 1e-12
