"""Werewolf's roles, and who is dealt to five to twelve players."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

WEREWOLF, SEER, GUARDIAN, HUNTER, VILLAGER = "werewolf", "seer", "guardian", "hunter", "villager"
VILLAGE, WEREWOLVES = "village", "werewolves"
TEAMS = {WEREWOLF: WEREWOLVES, SEER: VILLAGE, GUARDIAN: VILLAGE, HUNTER: VILLAGE, VILLAGER: VILLAGE}
WOLVES: Mapping[int, int] = {3: 1, 4: 1, 5: 1, 6: 1, 7: 2, 8: 2, 9: 2, 10: 3, 11: 3, 12: 3}
"""Werewolves by number of players: A.1's two of seven, and about a quarter of others; three and four play reduced
games, which are small enough to be enumerated whole."""


def cast(players: int) -> tuple[str, ...]:
    """The werewolves, a seer, a guardian, and villagers; of seven as in appendix A.1."""
    wolves = WOLVES[players]
    return (*[WEREWOLF] * wolves, SEER, GUARDIAN, *[VILLAGER] * (players - wolves - 2))


def check_roles(roles: tuple[str, ...]) -> None:
    """Hold roles to the game; raises ValueError, which says what they have to be."""
    count = Counter(roles)
    twice = {role for role, times in count.items() if times > 1} - {WEREWOLF, VILLAGER}
    if count[WEREWOLF] != WOLVES.get(len(roles), -1) or twice or not set(roles) <= set(TEAMS):
        dealt = ", ".join(f"{times} {role}" for role, times in count.items())
        table = ", ".join(f"{wolves} of {players}" for players, wolves in WOLVES.items())
        raise ValueError(
            f"{len(roles)} players ({dealt}): the game has {min(WOLVES)} to {max(WOLVES)}, of these so many are "
            f"werewolves: {table}; the others are villagers and at most one each of "
            f"{', '.join(role for role in TEAMS if role not in (WEREWOLF, VILLAGER))}"
        )
