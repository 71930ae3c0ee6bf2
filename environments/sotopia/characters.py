"""Who people play: a character's profile (SOTOPIA, sections 2.1 and C.2.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apportion.foundation.errors import InputError

BIG_FIVE = ("openness to experience", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
MORAL_VALUES = ("care", "fairness", "loyalty", "authority", "purity")
SCHWARTZ_VALUES = (
    "self-direction", "stimulation", "hedonism", "achievement", "power", "security", "conformity", "tradition",
    "benevolence", "universalism",
)  # fmt: skip
DECISION_STYLES = ("directive", "analytical", "conceptual", "behavioral")
MOST_NAME = 100
_TAKEN = re.compile(r"you|the other person|person \d+|environment|nobody", re.IGNORECASE)


@dataclass(frozen=True)
class Character:
    """A profile; texts are data that somebody wrote or a model made up.

    ``big_five``, ``moral_values``, ``schwartz_values`` and ``decision_style`` are in free words, because the published
    profiles use more than the types of C.2.1 (`BIG_FIVE`, …), which generation asks for. ``secret_words`` are the
    phrases by which rules tell that the secret was given away; empty where only a judge can tell.

    Raises
    ------
    InputError
        A name that is empty, longer than 100 characters, holds a line break, a quotation mark or a bracket, or is
        a word that stands for somebody unnamed; or a phrase of ``secret_words`` without words.
    """

    name: str
    age: int | None = None
    gender: str = ""
    pronouns: str = ""
    occupation: str = ""
    public_info: str = ""
    big_five: str = ""
    moral_values: tuple[str, ...] = ()
    schwartz_values: tuple[str, ...] = ()
    decision_style: str = ""
    personality: str = ""
    secret: str = ""
    secret_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name = self.name
        if _TAKEN.fullmatch(name.strip()):
            raise InputError(f"character {name!r}: observations call somebody without a name so; choose another name")
        if not name.strip() or len(name) > MOST_NAME or not name.isprintable() or set(name) & set('"<>[]{}'):
            raise InputError(
                f"character {name!r:.120}: a name has 1 to {MOST_NAME} printable characters, "
                'and neither line breaks nor any of "<>[]{}'
            )
        if not all(phrase.strip() for phrase in self.secret_words):
            raise InputError(f"character {name!r}: a phrase of secret_words is empty; write words, or take it out")


def field_words(value: object) -> str:
    """A field of a profile as it is read: several values with commas between them.

    >>> field_words(("care", "loyalty")), field_words(37)
    ('care, loyalty', '37')
    """
    return ", ".join(value) if isinstance(value, tuple) else str(value)
