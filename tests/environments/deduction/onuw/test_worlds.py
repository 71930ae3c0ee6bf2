"""Deals that fit what a player lived through, beside all worlds gone through one by one."""

from __future__ import annotations

from collections import defaultdict

from apportion.environments.deduction.onuw.claims import all_accounts
from apportion.environments.deduction.onuw.rules import PLAYERS, ClaimedHistory, all_deals, fitting_deals, nights_of


def test_the_deals_that_fit_are_those_of_the_worlds_that_fit() -> None:
    """Every tenth deal, with all its nights."""
    fitting: dict[tuple[int, ClaimedHistory], set[tuple[str, ...]]] = defaultdict(set)
    looked_at = all_deals()[::10]
    for world in (world for deal in looked_at for world in nights_of(deal)):
        for seat, lived in enumerate(world.accounts):
            fitting[seat, lived].add(world.deal)
    assert {key[1] for key in fitting if key[0] == 0} <= set(all_accounts(0))
    for seat in range(PLAYERS):
        for lived in all_accounts(seat)[seat::5]:
            found = [deal for deal in fitting_deals(seat, lived) if deal in looked_at]
            assert found == [deal for deal in looked_at if deal in fitting[seat, lived]]


def test_what_one_knows_to_be_one_s_last_card() -> None:
    assert ClaimedHistory("seer", (1,), ("werewolf",)).last == "seer"
    assert ClaimedHistory("robber", (1,), ("werewolf",)).last == "werewolf"
    assert ClaimedHistory("robber").last == "robber"
    assert ClaimedHistory("insomniac", (), ("villager",)).last == "villager"
    assert ClaimedHistory("villager").last == "villager"
