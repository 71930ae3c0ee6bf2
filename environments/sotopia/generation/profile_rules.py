"""What the authors mended by hand in generated characters and relationships, as far as code can check it (C.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace
from apportion.environments.sotopia.tasks import Character, Relationship

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Rule(Generic[_Made]):
    """Its ``name``, its ``words``, and ``problem``: what looks wrong with something in a task space; None: nothing."""

    name: str
    words: str
    problem: Callable[[_Made, TaskSpace], str | None]


@dataclass(frozen=True)
class Findings:
    """Names of the rules that hold, and of those that do not each with what looks wrong and the rule's words."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]


def findings(rules: Sequence[Rule[_Made]], made: _Made, space: TaskSpace) -> Findings:
    """What every rule says."""
    passed, failed = [], []
    for rule in rules:
        problem = rule.problem(made, space)
        if problem is None:
            passed.append(rule.name)
        else:
            failed.append(f"{rule.name}: {problem} ({rule.words})")
    return Findings(tuple(passed), tuple(failed))


_USUAL = {
    "man": ("he", "him", "his"),
    "male": ("he", "him", "his"),
    "woman": ("she", "her", "hers"),
    "female": ("she", "her", "hers"),
    "nonbinary": ("they", "them", "theirs", "ze", "xe", "any"),
}
_PRONOUNS = {"he": ("he", "him", "his", "himself"), "she": ("she", "her", "hers", "herself")}
_LONGEST_SHARED = 6
"""Words in a row that a secret and public information may share before the one gives the other away."""


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.casefold())


def _pronouns(character: Character, space: TaskSpace) -> str | None:
    gender = character.gender.casefold().replace("-", "").strip()
    usual = _USUAL.get(gender)
    used = _words(character.pronouns)
    if usual is None or any(word in usual for word in used):
        return None
    return f"gender {character.gender!r} with pronouns {character.pronouns!r}"


def _told_as(character: Character, space: TaskSpace) -> str | None:
    own = _words(character.pronouns)
    texts = set(_words(f"{character.public_info} {character.secret}"))
    for kind, forms in _PRONOUNS.items():
        said = sorted(texts & set(forms))
        if said and own and kind not in own and not set(own) & set(forms):
            return f"pronouns {character.pronouns!r}, and the texts say {said[0]!r}"
    return None


def _both_told(character: Character, space: TaskSpace) -> str | None:
    lacking = [name for name in ("secret", "public_info") if not getattr(character, name).strip()]
    return f"no {' and no '.join(lacking)}" if lacking else None


def _kept(character: Character, space: TaskSpace) -> str | None:
    secret, public = _words(character.secret), " ".join(_words(character.public_info))
    for start in range(len(secret) - _LONGEST_SHARED + 1):
        shared = " ".join(secret[start : start + _LONGEST_SHARED])
        if shared in public:
            return f"the public information says {shared!r}, as the secret does"
    return None


def _own_name(character: Character, space: TaskSpace) -> str | None:
    taken = [one.name for one in space.characters if one.name.casefold() == character.name.casefold()]
    return f"there is a {taken[0]!r} already" if taken else None


def _both_named(pair: KnownPair, space: TaskSpace) -> str | None:
    for name in pair.between:
        if not any(part in pair.story for part in name.split()):
            return f"the story does not name {name!r}"
    return None


def _one_relationship(pair: KnownPair, space: TaskSpace) -> str | None:
    for other in space.relationships:
        if set(other.between) == set(pair.between) and other.relationship != pair.relationship:
            return f"they are {other.relationship.words} already"
    return None


def _as_said(pair: KnownPair, space: TaskSpace) -> str | None:
    said = {kind for kind in Relationship if kind.words in _words(pair.story)}
    if said and pair.relationship not in said:
        return f"the story speaks of {', '.join(kind.words for kind in sorted(said))}"
    return None


CHARACTER_RULES = (
    Rule(
        "pronouns", "not consistent within the profile (e.g., gender nonbinary but with pronouns as he/him)", _pronouns
    ),
    Rule("told-as", "not consistent within the profile", _told_as),
    Rule("both-told", "generate the secret and public information", _both_told),
    Rule("secret-kept", "a secret that this character doesn't want anyone else to know", _kept),
    Rule("own-name", "no other character has the same name", _own_name),
)
RELATIONSHIP_RULES = (
    Rule("both-named", "a fictional relationship with a background story between two agents", _both_named),
    Rule("one-relationship", "consistent with ... other relationships", _one_relationship),
    Rule("as-said", "check and correct the generated relationships", _as_said),
)
