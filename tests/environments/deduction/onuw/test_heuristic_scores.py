"""Plain suspicion: what was seen of cards, moved as the claims say."""

from __future__ import annotations

from random import Random

from apportion.environments.deduction.onuw.claims import all_accounts
from apportion.environments.deduction.onuw.rules import WEREWOLF, ClaimedHistory
from apportion.environments.deduction.onuw.scripts import believable, suspicion

VILLAGER = ClaimedHistory("villager")


def most(points: list[float]) -> int:
    return max(range(len(points)), key=lambda seat: points[seat])


def test_whom_a_seer_has_seen_is_suspected_and_where_the_card_went() -> None:
    saw = ClaimedHistory("seer", (2,), ("werewolf",))
    assert most(suspicion({1: saw}, 0, VILLAGER)) == 2
    swapped = {1: saw, 3: ClaimedHistory("troublemaker", (2, 4))}
    assert most(suspicion(swapped, 0, VILLAGER)) == 4


def test_the_werewolf_that_was_robbed_suspects_the_robber() -> None:
    assert most(suspicion({}, 0, ClaimedHistory(WEREWOLF))) == 0
    assert most(suspicion({3: ClaimedHistory("robber", (0,), ("werewolf",))}, 0, ClaimedHistory(WEREWOLF))) == 3


def test_two_who_claim_one_card_and_one_who_claims_nothing_are_suspected() -> None:
    seer = ClaimedHistory("seer")
    points = suspicion({1: seer, 2: seer, 3: VILLAGER}, 0, VILLAGER)
    assert points[1] == points[2] > points[4] > points[3]
    assert points[0] < points[3]


def test_a_lie_is_innocent_and_claims_a_card_that_is_free() -> None:
    claims = {1: VILLAGER, 2: VILLAGER, 3: ClaimedHistory("seer")}
    lies = [believable(claims, 0, Random(seed)) for seed in range(200)]
    assert {lie.role for lie in lies} == {"robber", "troublemaker", "insomniac"}
    assert all(lie in all_accounts(0) and WEREWOLF not in (lie.last, *lie.seen) for lie in lies)
