"""What one character may know of another: by their relationship (SOTOPIA, section 2.1)."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from apportion.environments.sotopia.characters import Character

Visibility = Literal["paper", "released"]


class Relationship(IntEnum):
    """How two characters know each other, with the numbers of the published profiles."""

    STRANGER = 0
    KNOW_BY_NAME = 1
    ACQUAINTANCE = 2
    FRIEND = 3
    ROMANTIC = 4
    FAMILY = 5

    @property
    def words(self) -> str:
        """As in a sentence.

        >>> Relationship.KNOW_BY_NAME.words
        'know by name'
        """
        return self.name.lower().replace("_", " ")


FIELDS = (
    "name", "age", "gender", "pronouns", "occupation", "public_info", "big_five", "moral_values", "schwartz_values",
    "decision_style", "personality", "secret",
)  # fmt: skip
"""Of a character, what may be told; ``secret`` is told to nobody else."""
ALL_BUT_SECRETS = FIELDS[:-1]

_CLOSE = dict.fromkeys((Relationship.FRIEND, Relationship.ROMANTIC, Relationship.FAMILY), ALL_BUT_SECRETS)
VISIBLE: dict[Visibility, dict[Relationship, tuple[str, ...]]] = {
    "paper": {
        # 2.1 has five relationships: somebody known by name alone is none of them, and is as hidden as a stranger.
        Relationship.STRANGER: (),
        Relationship.KNOW_BY_NAME: (),
        Relationship.ACQUAINTANCE: ("name", "pronouns", "occupation", "public_info"),
        **_CLOSE,
    },
    "released": {
        Relationship.STRANGER: (),
        Relationship.KNOW_BY_NAME: ("name",),
        Relationship.ACQUAINTANCE: ("name", "age", "gender", "pronouns", "occupation", "public_info"),
        **_CLOSE,
    },
}
"""By rule and relationship, the fields of the other that are seen; ``released`` is what version 0.1.4 shows."""


def seen(character: Character, relationship: Relationship, rule: Visibility) -> dict[str, object]:
    """What somebody in this relationship knows of a character: by field, without those that say nothing.

    >>> seen(Character("Ann Lee", age=40, occupation="baker"), Relationship.ACQUAINTANCE, "paper")
    {'name': 'Ann Lee', 'occupation': 'baker'}
    """
    return filled_fields(character, VISIBLE[rule][relationship])


def filled_fields(character: Character, fields: tuple[str, ...]) -> dict[str, object]:
    """Fields of a character, without those that say nothing."""
    return {field: value for field in fields if (value := getattr(character, field)) not in ("", (), None)}
