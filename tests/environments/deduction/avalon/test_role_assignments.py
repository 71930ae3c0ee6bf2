"""Who may have which role, for whom."""

from __future__ import annotations

import math

import pytest

from apportion.environments.deduction.avalon.role_assignments import (
    AssassinationResult,
    Evidence,
    all_deals,
    fitting,
    seen_by,
    suspicion,
)
from apportion.environments.deduction.avalon.rules import Options

ROLES = Options().roles
DEAL = ("merlin", "servant", "minion", "assassin", "servant")


def test_there_are_sixty_deals_each_once() -> None:
    assert len(set(all_deals(ROLES))) == len(all_deals(ROLES)) == math.factorial(5) // 2
    assert len(all_deals(("merlin", "servant", "assassin"))) == 6


@pytest.mark.parametrize(("seat", "seen", "count"), [(0, {2, 3}, 2), (1, None, 24), (2, {2, 3}, 3), (3, {2, 3}, 3)])
def test_merlin_and_evil_see_who_is_evil(seat: int, seen: set[int] | None, count: int) -> None:
    assert seen_by(DEAL, seat) == seen
    deals = fitting(ROLES, Evidence(seat, DEAL[seat], seen_by(DEAL, seat)))
    assert len(deals) == count
    assert DEAL in deals


def test_fails_are_of_evil_members_and_a_shot_tells_who_shot() -> None:
    def known(
        *quests: tuple[tuple[int, ...], int], shot: AssassinationResult | None = None
    ) -> tuple[tuple[str, ...], ...]:
        return fitting(ROLES, Evidence(1, "servant", None, quests, shot))

    assert len(known(((0, 1), 0))) == 24
    failed = known(((1, 2), 1))
    assert len(failed) == 12
    assert all(deal[2] in ("minion", "assassin") for deal in failed)
    both = known(((0, 2, 3), 2), ((0, 1), 1))
    assert {frozenset(seat for seat in range(5) if deal[seat] in ("minion", "assassin")) for deal in both} == {
        frozenset({0, 2}),
        frozenset({0, 3}),
    }
    assert known(((0, 1), 2)) == ()
    hit = known(((0, 1), 0), shot=AssassinationResult(3, 0, True))
    assert all(deal[3] == "assassin" and deal[0] == "merlin" for deal in hit)
    assert len(hit) == 2
    missed = known(((0, 1), 0), shot=AssassinationResult(3, 0, False))
    assert all(deal[3] == "assassin" and deal[0] != "merlin" for deal in missed)


def test_suspicion_is_the_share_of_deals() -> None:
    deals = fitting(ROLES, Evidence(1, "servant", None))
    assert suspicion(deals, 5) == (0.5, 0.0, 0.5, 0.5, 0.5)
    assert suspicion((), 5) == (0.0,) * 5
