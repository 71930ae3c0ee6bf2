"""What models answer, read strictly: nothing is guessed, and what is wrong is told to the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from apportion.environments.sotopia.tasks import (
    BIG_FIVE,
    DECISION_STYLES,
    MORAL_VALUES,
    SCHWARTZ_VALUES,
    Character,
    Relationship,
)
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Settings, problems
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, reply_json, short_json
from apportion.llm_client.request import ChatReply

LEVELS = ("low", "medium", "high")
RELATED = ("family", "friend", "romantic", "acquaintance")
"""C.2: the relationships that are generated; strangers are those who have none."""
SCENARIO_RELATED = ("stranger", "acquaintance", "friend", "romantic", "family")
"""E.2, note 1."""
YOUNGEST, OLDEST = 18, 100

_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3})")
_Reply = TypeVar("_Reply", bound=Settings)


def _one_of(*allowed: str) -> AfterValidator:
    def check(value: str) -> str:
        if value.strip().lower() not in allowed:
            raise ValueError(f"{short_json(value)} is not allowed; allowed are {', '.join(allowed)}")
        return value.strip().lower()

    return AfterValidator(check)


def _some_of(*allowed: str) -> AfterValidator:
    check = _one_of(*allowed).func

    def check_all(values: tuple[str, ...]) -> tuple[str, ...]:
        if not values or len(set(values)) < len(values):
            raise ValueError("give at least one, and each once")
        return tuple(check(value) for value in values)  # type: ignore[call-arg]

    return AfterValidator(check_all)


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("empty; give a text")
    return " ".join(value.split())


def _all_five(values: dict[str, str]) -> dict[str, str]:
    if sorted(values) != sorted(BIG_FIVE):
        raise ValueError(f"it needs {', '.join(BIG_FIVE)}, and no other")
    wrong = [level for level in values.values() if level not in LEVELS]
    if wrong:
        raise ValueError(f"{short_json(wrong[0])} is not allowed; allowed are {', '.join(LEVELS)}")
    return {trait: values[trait] for trait in BIG_FIVE}


_Text = Annotated[str, Field(max_length=4_000), AfterValidator(_filled)]
_Short = Annotated[str, Field(max_length=100), AfterValidator(_filled)]
_Age = Annotated[int, Field(strict=True, ge=YOUNGEST, le=OLDEST)]


class CharacterReply(Settings):
    """One character of the list: the attributes of 2.1 and C.2.1."""

    name: _Short
    gender: _Short
    pronouns: _Short
    age: _Age
    occupation: _Short
    big_five: Annotated[dict[str, str], AfterValidator(_all_five)]
    moral_values: Annotated[tuple[str, ...], _some_of(*MORAL_VALUES)]
    schwartz_values: Annotated[tuple[str, ...], _some_of(*SCHWARTZ_VALUES)]
    decision_style: Annotated[str, _one_of(*DECISION_STYLES)]

    def made(self) -> Character:
        """The character, without secret and public information; raises InputError where the name cannot be used."""
        traits = "; ".join(f"{trait}: {level}" for trait, level in self.big_five.items())
        return Character(
            self.name, self.age, self.gender, self.pronouns, self.occupation, "", traits, self.moral_values,
            self.schwartz_values, self.decision_style,
        )  # fmt: skip


class _CharactersReply(Settings):
    characters: tuple[CharacterReply, ...]


class BackgroundReply(Settings):
    """A secret, and what other people know."""

    secret: _Text
    public_info: _Text


class RelationshipReply(Settings):
    """How two know each other, and its story."""

    relationship: Annotated[str, _one_of(*RELATED)]
    background_story: _Text

    @property
    def kind(self) -> Relationship:
        """The relationship."""
        return Relationship[self.relationship.upper()]


class ScenarioReply(Settings):
    """A scenario with its goals and constraints."""

    context: _Text
    goals: tuple[_Text, _Text]
    relationship: Annotated[str, _one_of(*SCENARIO_RELATED)]
    ages: tuple[tuple[Annotated[int, Field(strict=True)], Annotated[int, Field(strict=True)]], ...] = ()
    occupations: tuple[tuple[_Short, ...], ...] = ()

    @property
    def kind(self) -> Relationship:
        """The relationship."""
        return Relationship[self.relationship.upper()]


class SentenceReply(Settings):
    """A template's sentence, made fluent."""

    sentence: _Text


def read_as(model: type[_Reply]) -> Callable[[ChatReply], _Reply]:
    """Reads a reply as ``model``; raises ReplyMistakeError, which says what is wrong, where it is something else."""

    def read(reply: ChatReply) -> _Reply:
        document = reply_json(reply, "say less")
        if not isinstance(document, dict):
            raise ReplyMistakeError("the reply is no JSON object")
        try:
            return model.model_validate(document)
        except ValidationError as error:
            raise ReplyMistakeError("; ".join(problems(error)[:5])[:1_000]) from None

    return read


def read_characters(count: int, taken: Collection[str]) -> Callable[[ChatReply], tuple[Character, ...]]:
    """Reads a list of ``count`` characters, none of whom is called as somebody else."""

    def read(reply: ChatReply) -> tuple[Character, ...]:
        rows = read_as(_CharactersReply)(reply).characters
        if len(rows) != count:
            raise ReplyMistakeError(f"{len(rows)} characters; {count} are asked for")
        names = set(taken)
        for row in rows:
            if row.name in names:
                raise ReplyMistakeError(f"the name {row.name!r} is taken; every character has a name of its own")
            names.add(row.name)
        try:
            return tuple(row.made() for row in rows)
        except InputError as error:
            raise ReplyMistakeError(str(error)) from None

    return read


def read_scenario(reply: ChatReply) -> ScenarioReply:
    """Reads a scenario whose constraints, where it has them, are one for each agent."""
    read = read_as(ScenarioReply)(reply)
    for name in ("ages", "occupations"):
        values = getattr(read, name)
        if values and len(values) != len(read.goals):
            raise ReplyMistakeError(f"{name} has {len(values)} values; give one for each agent, or an empty list")
    if any(low > high for low, high in read.ages):
        raise ReplyMistakeError("ages: the youngest is older than the oldest")
    return read


def read_sentence(kept: Collection[str]) -> Callable[[ChatReply], str]:
    """Reads a sentence that still holds every price of ``kept`` (``$60``, ``$12.50``): the meaning may not change."""

    def read(reply: ChatReply) -> str:
        sentence = read_as(SentenceReply)(reply).sentence
        plain = _THOUSANDS.sub("", sentence)
        for price in kept:
            if not re.search(rf"{re.escape(price)}{'' if '.' in price else '(?:[.]00)?'}(?![0-9]|[.][0-9])", plain):
                raise ReplyMistakeError(f"the sentence has lost {price}; keep it as it is")
        return sentence

    return read


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return object_schema(properties)


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
CHARACTERS_SCHEMA = _object(
    characters=_list(
        _object(
            name=_TEXT,
            gender=_TEXT,
            pronouns=_TEXT,
            age={"type": "integer"},
            occupation=_TEXT,
            big_five=_object(**{trait: {"type": "string", "enum": list(LEVELS)} for trait in BIG_FIVE}),
            moral_values=_list({"type": "string", "enum": list(MORAL_VALUES)}),
            schwartz_values=_list({"type": "string", "enum": list(SCHWARTZ_VALUES)}),
            decision_style={"type": "string", "enum": list(DECISION_STYLES)},
        )
    )
)
BACKGROUND_SCHEMA = _object(secret=_TEXT, public_info=_TEXT)
RELATIONSHIP_SCHEMA = _object(relationship={"type": "string", "enum": list(RELATED)}, background_story=_TEXT)
SCENARIO_SCHEMA = _object(
    context=_TEXT,
    goals=_list(_TEXT),
    relationship={"type": "string", "enum": list(SCENARIO_RELATED)},
    ages=_list(_list({"type": "integer"})),
    occupations=_list(_list(_TEXT)),
)
SENTENCE_SCHEMA = _object(sentence=_TEXT)
