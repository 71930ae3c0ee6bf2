"""The rules of One Night Ultimate Werewolf: which acts are legal and who wins (Stackelberg Speaker, Appendix A.3).

Places are numbered from 0: the seats 0 to 4, then both cards of the centre, 5 and 6. Cards move from place to place at
night; who has which card at its end decides the teams. How to use it::

    night = at_night(deal, {SEER: (2,), ROBBER: (0,)})          # what was chosen, by places; the others do nothing
    winner(night.cards, dead([1, 0, 0, 0, None], Options()))    # 'village' or 'werewolf'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

from apportion.environments.deduction.deals import all_deals as orders
from apportion.foundation.errors import InputError

PLAYERS = 5
CENTRE = (5, 6)
"""The places of the cards that nobody was dealt."""
WEREWOLF, VILLAGER, SEER, ROBBER, TROUBLEMAKER, INSOMNIAC = ROLES = (
    "werewolf", "villager", "seer", "robber", "troublemaker", "insomniac",
)  # fmt: skip
CARDS = (WEREWOLF, VILLAGER, VILLAGER, SEER, ROBBER, TROUBLEMAKER, INSOMNIAC)
"""A.3: one Werewolf, two Villagers, one of each other role."""
VILLAGE, WEREWOLVES = ("village", "werewolf")
CHOOSING = (SEER, ROBBER, TROUBLEMAKER)
"""Who chooses something at night, in the order of the night; the Werewolf before them finds no other, the Insomniac
after them sees its own card."""
MOST_ROUNDS = 20

Deal = tuple[str, ...]
"""The cards by place, as they were dealt: `PLAYERS` and then the centre."""
Choice = tuple[int, ...]
"""What somebody chose at night, by places: () is nothing; the Seer's (seat,) or `CENTRE`; the Robber's (seat,); the
Troublemaker's two seats in order."""


@dataclass(frozen=True)
class Options:
    """What sources differ in.

    ``rounds``: Of discussion; everybody speaks once in each, by seats. A.3 does not say how many; 3 as in Jin et al.
    (2024), on whose game the paper's rests. ``single_votes_kill``: What happens where nobody has more than one vote.
    True: those with one vote die, since A.3 eliminates "the player(s) receiving the most votes". False: nobody dies, as
    at the table (Ted Alspach's rules of the game). Raises InputError: No round at all, or more than `MOST_ROUNDS`.
    """

    rounds: int = 3
    single_votes_kill: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise InputError(f"onuw: rounds = {self.rounds}; rounds of discussion are 1 to {MOST_ROUNDS}")


class Night(NamedTuple):
    """What a night came to: the cards by place at its end, and by seat the roles that its player was shown."""

    cards: Deal
    seen: tuple[tuple[str, ...], ...]


def team_of(role: str) -> str:
    """The team of a card."""
    return WEREWOLVES if role == WEREWOLF else VILLAGE


def check_deal(deal: Sequence[str]) -> None:
    """Hold a deal to A.3. Raises InputError: not the seven cards, or no Werewolf among the players."""
    if len(deal) != len(CARDS) or Counter(deal) != Counter(CARDS):
        raise InputError(
            f"onuw: dealt {', '.join(map(str, deal)) or 'nothing'}; {PLAYERS} players and the centre share "
            f"{len(CARDS)} cards: {', '.join(CARDS)}"
        )
    if WEREWOLF not in deal[:PLAYERS]:
        raise InputError(
            "onuw: the werewolf lies in the centre; one of the players always has it (Appendix A.3): deal it to one of "
            f"the first {PLAYERS} places"
        )


@lru_cache
def choices_of(role: str, seat: int) -> tuple[Choice, ...]:
    """What somebody with this card may choose at night; the first is to do nothing ("may", A.3).

    >>> choices_of("robber", 0)
    ((), (1,), (2,), (3,), (4,))
    """
    others = [other for other in range(PLAYERS) if other != seat]
    one = tuple((other,) for other in others)
    if role == SEER:
        return ((), *one, CENTRE)
    if role == ROBBER:
        return ((), *one)
    if role == TROUBLEMAKER:
        return ((), *combinations(others, 2))
    return ((),)


def at_night(deal: Deal, choices: Mapping[str, Choice]) -> Night:
    """What the night does to the cards, and what it shows to whom, in A.3's order.

    ``deal``: The cards by place. ``choices``: By role of `CHOOSING` what its player chose (one of `choices_of`); roles
    of the centre and those left out do nothing.
    """
    cards = list(deal)
    seen: list[tuple[str, ...]] = [()] * PLAYERS
    who = {role: deal.index(role) for role in (SEER, ROBBER, INSOMNIAC)}
    looked = choices.get(SEER, ())
    if looked and who[SEER] < PLAYERS:
        seen[who[SEER]] = tuple(cards[place] for place in looked)
    robbed, robber = choices.get(ROBBER, ()), who[ROBBER]
    if robbed and robber < PLAYERS:
        cards[robber], cards[robbed[0]] = cards[robbed[0]], cards[robber]
        seen[robber] = (cards[robber],)
    swapped = choices.get(TROUBLEMAKER, ())
    if swapped and deal.index(TROUBLEMAKER) < PLAYERS:
        one, other = swapped
        cards[one], cards[other] = cards[other], cards[one]
    if who[INSOMNIAC] < PLAYERS:
        seen[who[INSOMNIAC]] = (cards[who[INSOMNIAC]],)
    return Night(tuple(cards), tuple(seen))


def dead(votes: Sequence[int | None], options: Options) -> tuple[int, ...]:
    """The seats that the vote kills: those with the most votes, all of them where several have.

    ``votes``: By seat whom its player votes for; None abstains. All abstain: nobody dies. ``options``: What single
    votes do.

    >>> dead([1, 0, 0, 1, None], Options()), dead([1, 2, 3, 4, 0], Options(single_votes_kill=False))
    ((0, 1), ())
    """
    counts = [votes.count(seat) for seat in range(PLAYERS)]
    most = max(counts)
    if most == 0 or (most == 1 and not options.single_votes_kill):
        return ()
    return tuple(seat for seat in range(PLAYERS) if counts[seat] == most)


def winner(cards: Deal, killed: Sequence[int]) -> str:
    """The team that wins: the village where the player who has the Werewolf's card at dawn dies, whoever else does.

    >>> winner(("villager", "werewolf"), (0, 1)), winner(("villager", "werewolf"), (0,))
    ('village', 'werewolf')
    """
    return VILLAGE if cards.index(WEREWOLF) in killed else WEREWOLVES


class ClaimedHistory(NamedTuple):
    """What somebody lived through at night, or claims to have: the card at dusk, the choice, and what it was shown.

    The Seer's ``seen`` of the centre are in the order of their names: the cards there are looked at together.
    """

    role: str
    choice: Choice = ()
    seen: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        """The card that it knows to have been its own last."""
        return self.seen[-1] if self.seen and self.role != SEER else self.role


class World(NamedTuple):
    """One way in which everything can have happened: the deal, and by role of `CHOOSING` what was chosen."""

    deal: Deal
    choices: tuple[Choice, ...]

    @property
    def night(self) -> Night:
        """What it came to."""
        return at_night(self.deal, dict(zip(CHOOSING, self.choices, strict=True)))

    @property
    def accounts(self) -> tuple[ClaimedHistory, ...]:
        """By seat what its player lived through."""
        chosen, seen = dict(zip(CHOOSING, self.choices, strict=True)), self.night.seen
        return tuple(account(self.deal[seat], chosen.get(self.deal[seat], ()), seen[seat]) for seat in range(PLAYERS))


def account(role: str, choice: Choice, seen: tuple[str, ...]) -> ClaimedHistory:
    """What was lived through, with two cards of the centre in the order of their names."""
    return ClaimedHistory(role, choice, tuple(sorted(seen)) if len(seen) > 1 else seen)


@lru_cache
def all_deals() -> tuple[Deal, ...]:
    """The 1,800 deals with the Werewolf among the players, in a fixed order.

    >>> len(all_deals())
    1800
    """
    return tuple(deal for deal in orders(CARDS) if WEREWOLF in deal[:PLAYERS])


def nights_of(deal: Deal) -> Iterator[World]:
    """Every night of a deal: all that those who choose can choose, 210 where all three of them play."""
    yield from (World(deal, choices) for choices in product(*(_choices(deal, role) for role in CHOOSING)))


def fitting_deals(seat: int, lived: ClaimedHistory, shown: Sequence[tuple[int, str]] = ()) -> Iterator[Deal]:
    """The deals that a player cannot rule out, in the order of `all_deals`.

    ``seat``, ``lived``: Who asks, and what it lived through. ``shown``: Seats whose cards at the end of the night are
    known to all, with these.
    """

    def fits(world: World) -> bool:
        return world.accounts[seat] == lived and all(world.night.cards[other] == card for other, card in shown)

    return (deal for deal in all_deals() if deal[seat] == lived.role and any(map(fits, _nights_with(deal, lived))))


def _nights_with(deal: Deal, lived: ClaimedHistory) -> Iterator[World]:
    """The nights of a deal in which the role of ``lived`` chose what it did."""
    own = [(lived.choice,) if role == lived.role else _choices(deal, role) for role in CHOOSING]
    yield from (World(deal, choices) for choices in product(*own))


def _choices(deal: Deal, role: str) -> tuple[Choice, ...]:
    place = deal.index(role)
    return choices_of(role, place) if place < PLAYERS else ((),)
