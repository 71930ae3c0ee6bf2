"""The night and the vote told again by other means: cards with an identity of their own, followed one by one."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product

SEVEN = ("werewolf", "villager", "villager", "seer", "robber", "troublemaker", "insomniac")
PLAYERS = range(1, 6)

Dealt = tuple[str, ...]
Chosen = Mapping[str, tuple[int, ...]]
"""By role the places, counted from 1; the centre's are 6 and 7."""


def dealt() -> list[Dealt]:
    """Every deal in which one of the five has the Werewolf."""
    return sorted({one for one in permutations(SEVEN) if one[5] != "werewolf" and one[6] != "werewolf"})


def may(role: str, player: int) -> list[tuple[int, ...]]:
    """What can be chosen."""
    others = [other for other in PLAYERS if other != player]
    return {
        "seer": [(), *[(other,) for other in others], (6, 7)],
        "robber": [(), *[(other,) for other in others]],
        "troublemaker": [(), *combinations(others, 2)],
    }[role]


def nights(deal: Dealt) -> Iterator[dict[str, tuple[int, ...]]]:
    """Everything that can be chosen in one deal by those who play."""
    playing = [role for role in ("seer", "robber", "troublemaker") if deal.index(role) < 5]
    for choices in product(*[may(role, deal.index(role) + 1) for role in playing]):
        yield dict(zip(playing, choices, strict=True))


def told(deal: Dealt, chosen: Chosen) -> tuple[Dealt, dict[int, tuple[str, ...]]]:
    """The cards at dawn, and by player what was shown, by following where each card lies."""
    lies = {card: card + 1 for card in range(7)}  # card number -> place; the card's face is deal[card]
    shown: dict[int, tuple[str, ...]] = {}

    def at(place: int) -> int:
        return next(card for card, where in lies.items() if where == place)

    def exchange(one: int, other: int) -> None:
        first, second = at(one), at(other)
        lies[first], lies[second] = other, one

    for role in ("werewolf", "seer", "robber", "troublemaker", "insomniac"):
        player = deal.index(role) + 1
        if player > 5:
            continue
        places = chosen.get(role, ())
        if role == "seer" and places:
            shown[player] = tuple(deal[at(place)] for place in places)
        if role == "robber" and places:
            exchange(player, places[0])
            shown[player] = (deal[at(player)],)
        if role == "troublemaker" and places:
            exchange(*places)
        if role == "insomniac":
            shown[player] = (deal[at(player)],)
    return tuple(deal[at(place)] for place in range(1, 8)), shown


def village_wins(votes: tuple[int, ...], wolf: int, single_votes_kill: bool) -> bool:
    """Whether the vote kills the werewolf; votes by players from 1, 0 abstains."""
    received = sorted(((votes.count(player), player) for player in PLAYERS), reverse=True)
    most = received[0][0]
    if most == 0 or (most == 1 and not single_votes_kill):
        return False
    return (most, wolf) in received


@lru_cache
def random_village_rate(single_votes_kill: bool) -> Fraction:
    """How often the village wins where everybody's vote is drawn from the others and abstaining: all 3,125 votes."""
    ballots = [[0, *[other for other in PLAYERS if other != player]] for player in PLAYERS]
    cast = list(product(*ballots))
    return Fraction(sum(village_wins(votes, 1, single_votes_kill) for votes in cast), len(cast))


@lru_cache(maxsize=1)
def ends_as_werewolf() -> dict[str, Fraction]:
    """By the card that one was dealt, how often one has the Werewolf's at dawn, where nights are drawn evenly."""
    among = {role: Fraction(0) for role in set(SEVEN)}
    counts = dict.fromkeys(among, 0)
    for deal in dealt():
        every = list(nights(deal))
        for player in PLAYERS:
            counts[deal[player - 1]] += 1
            ends = sum(told(deal, chosen)[0][player - 1] == "werewolf" for chosen in every)
            among[deal[player - 1]] += Fraction(ends, len(every))
    return {role: among[role] / counts[role] for role in among}
