"""CaSiNo's game as an environment: a negotiation in which no deal is walking away, which is worth something."""

from __future__ import annotations

from typing import ClassVar

from apportion.corpus.casino_points import MOST, WALKED_AWAY
from apportion.environments.negotiation.casino.contexts import check
from apportion.environments.negotiation.casino.realization import PACKAGE_WORDS
from apportion.environments.negotiation.game import Negotiation


class Casino(Negotiation):
    """One game; acts, turns and selections are those of `Negotiation`.

    ``context``: Who wants what. ``most_acts``: After which both select. ``names``: Who sits in seat 0 and in seat 1.
    Raises InputError: Another pool or other values, no act at all, or names that cannot be used.
    """

    kind: ClassVar[str] = "casino"
    wording = PACKAGE_WORDS

    def scales(self) -> dict[str, tuple[float, float]]:
        """Points from 0 to 36."""
        return {"points": (0.0, float(MOST)), "advantage": (-float(MOST), float(MOST))}

    def _check_context(self) -> None:
        check(self.context)

    def _points(self) -> tuple[int, int]:
        dealt = self.game.agreed if self.game.over else self.game.settled
        return super()._points() if dealt else (WALKED_AWAY, WALKED_AWAY)
