"""Scripted players of this game: claims read by plain points, and claims weighed by Bayes' rule over every night.

At night both draw what they do from all that their card allows, doing nothing among it: so the model of the night in
`posterior` is right for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from apportion.environments.deduction.events import SPEAK, VOTE, called
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.onuw.claims import Claim, all_accounts, claimed, sentence
from apportion.environments.deduction.onuw.observation import lived
from apportion.environments.deduction.onuw.posterior import least_suspect, wolf_at_dawn
from apportion.environments.deduction.onuw.rules import (
    CARDS,
    PLAYERS,
    ROBBER,
    SEER,
    TROUBLEMAKER,
    WEREWOLF,
    ClaimedHistory,
)
from apportion.environments.deduction.scripts import aimed, drawn
from apportion.environments.environment import Action, Observation

SURE = 100.0
_SEEN, _CLEARED, _TWICE, _SILENT = 3.0, -1.0, 2.0, 1.0


def suspicion(claims: Mapping[int, Claim], seat: int, lived: ClaimedHistory) -> list[float]:
    """By seat how much its player is suspected to have the Werewolf's card at dawn.

    ``claims``: By seat what its player claims. ``seat``, ``lived``: Who suspects, and what it lived through: it
    believes itself alone wholly.
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


Claims = Mapping[int, Claim]


def claims_in(facts: PrivateInformation) -> dict[int, Claim]:
    """By place of a seat (from 0) the last claim that its player has made."""
    claims: dict[int, Claim] = {}
    for event in facts.events:
        if event.kind == SPEAK:
            claim = claimed(event.seat - 1, event.text)
            if claim is not None:
                claims[event.seat - 1] = claim
    return claims


class Claiming:
    """One who tells its night, and invents one where it ended with the Werewolf's card.

    It sticks to what it has claimed, says whom it suspects most, and votes for that player.
    """

    called = "claims"
    paid = False

    def act(self, view: Observation) -> Action:
        """What it does."""
        facts: PrivateInformation = view.facts
        if SPEAK not in facts.choices and VOTE not in facts.choices:
            return aimed(*drawn(facts, view.draws))
        seat, known, claims, draws = facts.seat - 1, lived(facts), claims_in(facts), view.draws
        points = self.suspects(claims, seat, known, draws)
        others = [other for other in range(PLAYERS) if other != seat]
        most = max(points[other] for other in others)
        suspected = [other for other in others if points[other] >= most - 1e-9]
        if VOTE in facts.choices:
            return Action(VOTE, "", draws.choice(suspected) + 1)
        told = claims.get(seat)
        if not isinstance(told, ClaimedHistory):
            told = self.lie(claims, seat, draws) if known.last == WEREWOLF else known
        accused = f" I suspect {called(suspected[0] + 1)}." if len(suspected) == 1 else ""
        return Action(SPEAK, sentence(told) + accused)

    def suspects(self, claims: Claims, seat: int, known: ClaimedHistory, draws: Random) -> Sequence[float]:
        """By seat how much its player is suspected to have the Werewolf's card now."""
        return suspicion(claims, seat, known)

    def lie(self, claims: Claims, seat: int, draws: Random) -> ClaimedHistory:
        """What it claims where it has the Werewolf's card."""
        return believable(claims, seat, draws)


class Bayesian(Claiming):
    """The same by the exact posterior; its lie is the one that somebody who knows nothing suspects least.

    Who has probably lost the Werewolf's card votes with the village, who has probably got it against it: in both cases
    for the player who, of the others, most probably has it.
    """

    called = "bayes"

    def suspects(self, claims: Claims, seat: int, known: ClaimedHistory, draws: Random) -> Sequence[float]:
        """By seat the probability that its player has the Werewolf's card now; of whoever has it, what others think."""
        own = wolf_at_dawn(claims, seat, known)
        if own.argmax() != seat:
            return [float(one) for one in own]
        return [float(one) for one in wolf_at_dawn(claims)]

    def lie(self, claims: Claims, seat: int, draws: Random) -> ClaimedHistory:
        """The innocent claim that is suspected least."""
        return least_suspect(seat, claims)
