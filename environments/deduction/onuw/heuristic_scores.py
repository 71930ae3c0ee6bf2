"""Whom a plain reader of claims suspects: points on the cards that were dealt, moved as the claims say they moved.

No probabilities: what somebody saw of a card counts, two who claim one card are suspected both, who claims nothing is
suspected a little. Then the cards change places as those who say that they moved them say.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from apportion.environments.deduction.onuw.claims import Claim, all_accounts
from apportion.environments.deduction.onuw.rules import CARDS, PLAYERS, ROBBER, SEER, TROUBLEMAKER, WEREWOLF
from apportion.environments.deduction.onuw.worlds import ClaimedHistory

SURE = 100.0
_SEEN, _CLEARED, _TWICE, _SILENT = 3.0, -1.0, 2.0, 1.0


def suspicion(claims: Mapping[int, Claim], seat: int, lived: ClaimedHistory) -> list[float]:
    """By seat how much its player is suspected to have the Werewolf's card at dawn.

    Parameters
    ----------
    claims : mapping of int to Account or Card
        By seat what its player claims.
    seat, lived : int and Account
        Who suspects, and what it lived through: it believes itself alone wholly.
    """
    told: dict[int, Claim] = {**claims, seat: lived}
    points = [0.0] * PLAYERS
    for other in range(PLAYERS):
        if other == seat:
            points[other] = SURE if lived.role == WEREWOLF else -SURE
        elif other not in told:
            points[other] += _SILENT
        else:
            points[other] += _TWICE * (_too_many(told, told[other].role) + (told[other].role == WEREWOLF))
    for other, claim in told.items():
        sure = SURE if other == seat else 1.0
        if claim.role in (SEER, ROBBER) and len(claim.choice) == 1:
            points[claim.choice[0]] += sure * (_SEEN if claim.seen[0] == WEREWOLF else _CLEARED)
    for role in (ROBBER, TROUBLEMAKER):
        for other, claim in told.items():
            if claim.role == role and claim.choice:
                one, another = (other, claim.choice[0]) if role == ROBBER else claim.choice
                points[one], points[another] = points[another], points[one]
    return points


def believable(claims: Mapping[int, Claim], seat: int, draws: Random) -> ClaimedHistory:
    """A lie: an innocent night with a card that others have not claimed already, where there is one."""
    innocent = [account for account in all_accounts(seat) if account.last != WEREWOLF and WEREWOLF not in account.seen]
    others = {other: claim for other, claim in claims.items() if other != seat}
    free = [account for account in innocent if not _too_many({**others, seat: account}, account.role)]
    roles = sorted({account.role for account in free or innocent})
    role = draws.choice(roles)
    return draws.choice([account for account in free or innocent if account.role == role])


def _too_many(told: Mapping[int, Claim], role: str) -> bool:
    return sum(claim.role == role for claim in told.values()) > CARDS.count(role)
