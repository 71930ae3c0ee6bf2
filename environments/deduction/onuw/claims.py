"""What somebody claims of its night, in words that the scripts of this game say and read; the rules read none of it.

A claim may be a lie. Of free words scripts read the card alone that somebody says to have been dealt ("I'm the Seer").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from apportion.environments.deduction.onuw.rules import (
    CARDS,
    CENTRE,
    INSOMNIAC,
    PLAYERS,
    ROBBER,
    ROLES,
    SEER,
    TROUBLEMAKER,
    VILLAGER,
    WEREWOLF,
    Choice,
    ClaimedHistory,
    choices_of,
)

_CLAIM = re.compile(r"I was dealt the [^.]*\.")
_CARD = re.compile(
    rf"\bI(?:'m| am| was| was dealt| started as| began as) (?:the |a |an )?({'|'.join(ROLES)})\b(?!')", re.IGNORECASE
)


@dataclass(frozen=True)
class Card:
    """A claim in free words: the card that somebody says to have been dealt; what it says of its night is not read.

    No tuple, so that it equals no `ClaimedHistory` of somebody who did nothing.
    """

    role: str
    choice: Choice = ()
    seen: tuple[str, ...] = ()


Claim = ClaimedHistory | Card


@lru_cache
def all_accounts(seat: int) -> tuple[ClaimedHistory, ...]:
    """All that a player of a seat can live through at night (64), in a fixed order.

    >>> len(all_accounts(0)), all_accounts(0)[0]
    (64, ClaimedHistory(role='werewolf', choice=(), seen=()))
    """
    others = (WEREWOLF, VILLAGER, ROBBER, TROUBLEMAKER, INSOMNIAC)
    found = [ClaimedHistory(WEREWOLF), ClaimedHistory(VILLAGER)]
    for choice in choices_of(SEER, seat):
        if choice == CENTRE:
            found += [ClaimedHistory(SEER, choice, pair) for pair in _pairs()]
        elif choice:
            found += [ClaimedHistory(SEER, choice, (card,)) for card in others]
        else:
            found.append(ClaimedHistory(SEER))
    for choice in choices_of(ROBBER, seat):
        seen = (WEREWOLF, VILLAGER, SEER, TROUBLEMAKER, INSOMNIAC) if choice else None
        found += [ClaimedHistory(ROBBER, choice, (card,)) for card in seen] if seen else [ClaimedHistory(ROBBER)]
    found += [ClaimedHistory(TROUBLEMAKER, choice) for choice in choices_of(TROUBLEMAKER, seat)]
    # It was robbed, swapped, or nothing happened: whichever card, it is one that another player can have had.
    found += [ClaimedHistory(INSOMNIAC, (), (card,)) for card in sorted(set(CARDS), key=CARDS.index)]
    return tuple(found)


def sentence(account: ClaimedHistory) -> str:
    """A claim in words; seats are called by their names.

    >>> sentence(ClaimedHistory("robber", (2,), ("villager",)))
    "I was dealt the Robber; I took Player 3's card and am the Villager now."
    """
    role, choice, seen = account
    said = f"I was dealt the {role.title()}"
    if role == SEER:
        if choice == CENTRE:
            return f"{said}; I looked at the centre: {seen[0].title()} and {seen[1].title()}."
        return (
            f"{said}; I looked at Player {choice[0] + 1}'s card: {seen[0].title()}."
            if choice
            else f"{said}; I looked at nothing."
        )
    if role == ROBBER:
        return (
            f"{said}; I took Player {choice[0] + 1}'s card and am the {seen[0].title()} now."
            if choice
            else f"{said}; I took nobody's card."
        )
    if role == TROUBLEMAKER:
        return (
            f"{said}; I swapped the cards of Player {choice[0] + 1} and Player {choice[1] + 1}."
            if choice
            else f"{said}; I swapped nothing."
        )
    if role == INSOMNIAC:
        return f"{said}; at dawn my card was the {seen[0].title()}."
    return f"{said}; I did nothing at night."


@lru_cache(maxsize=4096)
def claimed(seat: int, words: str) -> Claim | None:
    """The last claim in somebody's words that its player can have lived through; else the last card; None: neither.

    >>> claimed(0, "Hello! I was dealt the Villager; I did nothing at night. Trust me.")
    ClaimedHistory(role='villager', choice=(), seen=())
    >>> claimed(0, "I'm the seer, believe me").role
    'seer'
    """
    known = _by_words(seat)
    claims = [known[said] for said in _CLAIM.findall(words) if said in known]
    if claims:
        return claims[-1]
    cards = _CARD.findall(words)
    return Card(cards[-1].casefold()) if cards else None


@lru_cache(maxsize=PLAYERS)
def _by_words(seat: int) -> dict[str, ClaimedHistory]:
    return {sentence(account): account for account in all_accounts(seat)}


def _pairs() -> list[tuple[str, str]]:
    """What can lie in the centre beside a Seer who plays: two of the cards but the Werewolf and the Seer."""
    left = (INSOMNIAC, ROBBER, TROUBLEMAKER, VILLAGER)
    return [(one, other) for at, one in enumerate(left) for other in left[at + 1 :]] + [(VILLAGER, VILLAGER)]
