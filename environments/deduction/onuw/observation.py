"""What a player reads of this game: the rules, its card, what it was shown; and its night again from what it knows."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.environments.deduction.events import VOTE, Aim, called
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.onuw.rules import (
    CENTRE,
    INSOMNIAC,
    PLAYERS,
    ROBBER,
    SEER,
    TROUBLEMAKER,
    VILLAGE,
    VILLAGER,
    WEREWOLF,
    Choice,
    ClaimedHistory,
    Options,
)

LOOK, CENTRES, ROB, SWAP = "look", "centre", "rob", "swap"
"""Kinds of acts of the night."""
SEEN = "seen"
"""The kind of event by which a player is shown cards; its data are their roles."""
MEANINGS = {
    LOOK: "look at another player's card, 0 at nobody's",
    CENTRES: "look at both cards of the centre",
    ROB: "exchange your card with another player's and look at your new one, 0 with nobody's",
    SWAP: "exchange the cards of two other players without looking at them, 0 nobody's",
    VOTE: "vote for a player's death, 0 abstains",
}
_OWN = {
    WEREWOLF: "You are on the werewolf's team, as long as you have its card. There is no other Werewolf.",
    VILLAGER: "You have nothing to do at night.",
    SEER: "At night you may look at one other player's card or at both cards of the centre.",
    ROBBER: "At night you may exchange your card with another player's and look at your new card; its team is yours "
    "then, and the other, who does not know, has the Robber's card.",
    TROUBLEMAKER: "At night you may exchange the cards of two other players, without looking at them.",
    INSOMNIAC: "At the end of the night you look at your own card.",
}
_ROLE_OF = {LOOK: SEER, CENTRES: SEER, ROB: ROBBER, SWAP: TROUBLEMAKER}


def rules_in_words(options: Options) -> str:
    """The rules, as all know them."""
    single = "those with one vote die" if options.single_votes_kill else "nobody dies"
    rounds = "one round" if options.rounds == 1 else f"{options.rounds} rounds"
    return (
        f"One Night Ultimate Werewolf with {PLAYERS} players and 7 cards: one Werewolf, two Villagers, a Seer, a "
        "Robber, a Troublemaker and an Insomniac. Every player is dealt one card and looks at it; two lie in the "
        "centre. One of the players always has the Werewolf. In the night those who were dealt these cards act in this "
        "order: the Werewolf finds no other; the Seer may look at one other player's card or at both cards of the "
        "centre; the Robber may exchange the own card with another player's and looks at the new one; the Troublemaker "
        "may exchange the cards of two other players without looking; the Insomniac looks at the own card. Nobody else "
        f"learns of it. Then all discuss ({rounds}, by turns from Player 1 to Player {PLAYERS}), and vote at once for "
        "another player, or abstain. Those with the most votes die, all of them where several have the most; where "
        f"nobody has more than one vote, {single}. The card that a player has at the end decides the team: who has the "
        "Werewolf then is the werewolf's team, all others are the village. The village wins if the player with the "
        "Werewolf dies, whoever else does; else the werewolf's team wins. Who does nothing at night looks at, takes or "
        "swaps no card; who says nothing has had the turn; who does nothing at the vote abstains."
    )


def role_in_words(seat: int, role: str) -> str:
    """Who one is, the card that one was dealt, and what it is for."""
    team = "" if role == WEREWOLF else " You are on the village's team, as long as you do not have the Werewolf's card."
    return f"You are {called(seat)}. You were dealt the {role.title()}.{team} {_OWN[role]}"


def act_in_words(kind: str, aim: Aim) -> str:
    """An act as something done, without who.

    >>> act_in_words("swap", (1, 4)), act_in_words("rob", 0)
    ('swapped the cards of Player 1 and Player 4', "took nobody's card")
    """
    whose = f"{called(aim)}'s" if aim and kind in (LOOK, ROB) else "nobody's"
    if kind == LOOK:
        return f"looked at {whose} card"
    if kind == CENTRES:
        return "looked at both cards of the centre"
    if kind == ROB:
        return f"took {whose} card" + (" and left the Robber's there" if aim else "")
    if kind == SWAP:
        return f"swapped the cards of {called(aim[0])} and {called(aim[1])}" if aim else "swapped nobody's cards"
    return f"voted for {called(aim)}" if aim else "abstained"


def seen_in_words(known: ClaimedHistory) -> str:
    """What a player was shown at night.

    >>> seen_in_words(ClaimedHistory("seer", (5, 6), ("robber", "villager")))
    'The cards of the centre are the Robber and the Villager.'
    """
    first = known.seen[0].title()
    if known.choice == CENTRE:
        return f"The cards of the centre are the {first} and the {known.seen[1].title()}."
    if known.role == SEER:
        return f"{called(known.choice[0] + 1)}'s card was the {first}."
    if known.role == ROBBER:
        return f"Your card is the {first} now, and {called(known.choice[0] + 1)} has the Robber."
    return f"At the end of the night your card is the {first}."


def vote_in_words(shown: Mapping[int, str], won: str) -> str:
    """What the vote has come to: who dies, with their cards, and who has won."""
    winners = "The village wins." if won == VILLAGE else "The werewolf's team wins."
    if not shown:
        return f"Nobody dies. {winners}"
    cards = ", ".join(f"{called(seat)} with the {role.title()}" for seat, role in shown.items())
    return f"Killed: {cards}. {winners}"


def lived(facts: PrivateInformation) -> ClaimedHistory:
    """What a player lived through at night, from what it knows; before the night that it did nothing."""
    role = facts.role
    choice: Choice = ()
    seen: tuple[str, ...] = ()
    for event in facts.events:
        if event.to is None:
            break
        if event.kind == SEEN:
            seen = event.data
        elif event.kind in _ROLE_OF:
            role = _ROLE_OF[event.kind]
            aims = event.data if isinstance(event.data, tuple) else (event.data,) if event.data else ()
            choice = CENTRE if event.kind == CENTRES else tuple(seat - 1 for seat in aims)
    if seen and not choice:
        role = INSOMNIAC
    return ClaimedHistory(role, choice, seen)
