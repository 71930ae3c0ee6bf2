"""Avalon's roles, with what each sees at night, and what the tabletop game deals to five to ten players."""

from __future__ import annotations

from collections.abc import Mapping

Deal = tuple[str, ...]
"""Who has which role, by seat."""
MERLIN, PERCIVAL, SERVANT, MINION = "merlin", "percival", "servant", "minion"
ASSASSIN, MORGANA, MORDRED, OBERON = "assassin", "morgana", "mordred", "oberon"
NAMES: Mapping[str, str] = {
    MERLIN: "Merlin",
    PERCIVAL: "Percival",
    SERVANT: "Servant of Arthur",
    MINION: "Minion of Mordred",
    ASSASSIN: "Assassin",
    MORGANA: "Morgana",
    MORDRED: "Mordred",
    OBERON: "Oberon",
}
"""By role, good ones first, what it is called."""
EVIL_ROLES = frozenset((MINION, ASSASSIN, MORGANA, MORDRED, OBERON))
_PACK = EVIL_ROLES - {OBERON}
SEES: Mapping[str, frozenset[str]] = {
    MERLIN: EVIL_ROLES - {MORDRED},
    PERCIVAL: frozenset((MERLIN, MORGANA)),
    **dict.fromkeys(_PACK, _PACK),
}
"""By role whose seats it sees at night, its own among them, but not who of them is who; the others see nobody."""
HOLD_EVIL: Mapping[str, frozenset[str]] = {
    MERLIN: SEES[MERLIN],
    **dict.fromkeys(_PACK, _PACK),
    OBERON: frozenset((OBERON,)),
}
"""By role whose seats it knows to be evil, its own among them; the others know of nobody."""
EVIL: Mapping[int, int] = {5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 4}
"""Evil players by number of players."""
_SIZES = {6: (2, 3, 4, 3, 4), 7: (2, 3, 3, 4, 4)} | dict.fromkeys((8, 9, 10), (3, 4, 4, 5, 5))
TWO_FAILS_FROM = 7
"""Players from whom on the fourth of five quests fails by two cards."""


def cast(players: int) -> Deal:
    """Merlin, the Assassin, and as many Servants and Minions as so many players need.

    >>> cast(7)
    ('merlin', 'servant', 'servant', 'servant', 'minion', 'minion', 'assassin')
    """
    evil = EVIL[players]
    return (MERLIN, *[SERVANT] * (players - evil - 1), *[MINION] * (evil - 1), ASSASSIN)


def team_sizes(players: int) -> tuple[int, ...]:
    """Members of the team of each of five quests."""
    return _SIZES.get(players, (2, 3, 2, 3, 3))


def seen_by(deal: Deal, seat: int) -> frozenset[int] | None:
    """The seats that a player sees at night; None: the player sees nothing."""
    seen = SEES.get(deal[seat])
    return None if seen is None else frozenset(other for other, role in enumerate(deal) if role in seen)
