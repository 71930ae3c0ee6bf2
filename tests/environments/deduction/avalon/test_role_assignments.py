"""Who may have which role, for whom."""

from __future__ import annotations

import math

from apportion.environments.deduction.avalon.role_assignments import (
    Evidence,
    all_deals,
    fitting,
    suspicion,
)
from apportion.environments.deduction.avalon.rules import Options

ROLES = Options().roles
DEAL = ("merlin", "servant", "minion", "assassin", "servant")


def test_there_are_sixty_deals_each_once() -> None:
    assert len(set(all_deals(ROLES))) == len(all_deals(ROLES)) == math.factorial(5) // 2
    assert len(all_deals(("merlin", "servant", "assassin"))) == 6


def test_suspicion_is_the_share_of_deals() -> None:
    deals = fitting(ROLES, Evidence(1, "servant", None))
    assert suspicion(deals, 5) == (0.5, 0.0, 0.5, 0.5, 0.5)
    assert suspicion((), 5) == (0.0,) * 5
