"""What annotators are asked: criteria, in sets that ship with apportion or that a user writes as TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from apportion.corpus.files.textfile import read_text
from apportion.environments.negotiation.human_study.survey import HIGH, LOW, SURVEY, Question
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Place, Settings, problems
from apportion.foundation.toml_text import toml_text

SETS = ("geli", "pairs", "turns", "savoir", "negotiation")
"""The sets that ship, by name."""
HOME = Path(__file__).resolve().parent / "sets"
FIELDS = ("reason", "dialogue", "item")
"""Names that forms have for other things."""
MOST_STEPS = 101
"""Values of a rating, at most."""
Wording = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Kind = Literal["select", "rating", "pair", "turns"]


class Criterion(Settings):
    """One question, and how it is answered.

    ``select``: any number of responses is marked, none is an answer, too; ``reversed``: being marked is bad, so that
    what counts is 1 - marked. ``rating``: a whole number from ``low`` to ``high`` a response. ``pair``: one of two
    responses, or a tie. ``turns``: a whole number from ``low`` to ``high`` for each turn of the agent in the dialogue.

    >>> Criterion(name="reuse", question="Which would you talk to again?", kind="select").scale
    (0, 1)
    """

    name: Name = Field(description="small letters, digits and _, as it stands in tables")
    question: Wording
    kind: Kind
    reversed: bool = Field(False, description="whether the high end is the bad one; a select that is marked counts 0")
    low: int = Field(1, ge=-1_000, le=1_000)
    high: int = Field(5, ge=-1_000, le=1_000)
    anchors: Mapping[int, str] = Field(default_factory=dict, description="what values of a rating mean")
    required: bool = True
    about: Literal["responses", "dialogue"] = Field(
        "responses", description="dialogue: the agent as it speaks in all of the dialogue; items have one response then"
    )

    @model_validator(mode="after")
    def _scale_is_one(self) -> Criterion:
        if self.kind in ("rating", "turns"):
            if not 1 <= self.high - self.low < MOST_STEPS:
                raise ValueError(f"a scale from {self.low} to {self.high}; 2 to {MOST_STEPS} values are needed")
            beyond = [value for value in self.anchors if not self.low <= value <= self.high]
            if beyond:
                raise ValueError(f"anchors: {beyond[0]} is not on the scale from {self.low} to {self.high}")
        elif self.anchors:
            raise ValueError(f"anchors belong to a rating or to turns, and this is a {self.kind}")
        if self.reversed and self.kind == "pair":
            raise ValueError("reversed: a pair has no scale; ask for the better one")
        return self

    @property
    def scale(self) -> tuple[int, int]:
        """The ends of the values that count: of a rating its own, else 0 and 1."""
        return (self.low, self.high) if self.kind in ("rating", "turns") else (0, 1)

    @property
    def least_responses(self) -> int:
        """How many responses an item has at least so that this can be asked of it."""
        return {"select": 2, "pair": 2, "rating": 1, "turns": 0}[self.kind]


class Reason(Settings):
    """The question that is answered in words, and how many characters it takes at least where it is answered."""

    question: Wording
    required: bool = False
    least: int = Field(0, ge=0, le=1_000, description="characters, at least")


class CriterionSet(Settings):
    """What is asked of an item: at least one criterion, and perhaps a reason in words.

    ``source`` is where the wording is from, for reports. Instructions are a text of their own beside it
    (`apportion.study.design.folder.StudyFolder.instructions`).
    """

    title: Wording
    source: str = Field("", max_length=2_000)
    criteria: tuple[Criterion, ...] = Field(max_length=50)
    reason: Reason | None = None

    @field_validator("criteria")
    @classmethod
    def _each_once(cls, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        if not criteria:
            raise ValueError("there is no criterion; write at least one, under [[criteria]]")
        names = [criterion.name for criterion in criteria]
        taken = next((name for name in names if name in FIELDS), None)
        if taken is not None:
            raise ValueError(f"a criterion is called {taken!r}, as a field of every form is; give it another name")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two criteria are called {twice!r}; give each a name of its own")
        for asked in (criterion.name for criterion in criteria if criterion.kind == "turns"):
            for name in names:
                place = name.removeprefix(f"{asked}_")
                if place != name and place.isdecimal():
                    raise ValueError(
                        f"{name!r} is what turn {place} of {asked!r} is called in forms; rename one of them"
                    )
        return criteria

    @model_validator(mode="after")
    def _about_one(self) -> CriterionSet:
        if self.asks_pairs and any(criterion.about == "dialogue" for criterion in self.criteria):
            raise ValueError("a pair has two responses, and what is about the dialogue one; make two studies of it")
        return self

    @property
    def asks_pairs(self) -> bool:
        """Whether items are two responses side by side."""
        return any(criterion.kind == "pair" for criterion in self.criteria)

    @property
    def asks_turns(self) -> bool:
        """Whether turns of the agent in the context are rated."""
        return any(criterion.kind == "turns" for criterion in self.criteria)

    @property
    def asks_turns_alone(self) -> bool:
        """Whether nothing but turns is rated, so that items have no responses."""
        return all(criterion.kind == "turns" for criterion in self.criteria)

    @property
    def least_responses(self) -> int:
        """How many responses an item has at least."""
        return max(criterion.least_responses for criterion in self.criteria)

    @cached_property
    def by_name(self) -> Mapping[str, Criterion]:
        """The criteria by name, in their order."""
        return {criterion.name: criterion for criterion in self.criteria}


def shipped_toml(name: str) -> str:
    """The TOML of a set that ships. Raises InputError: no set is called so."""
    if name not in SETS:
        advice = did_you_mean(name, SETS, "Choose one, or name a TOML file of your own.")
        raise InputError(f"no set of criteria is called {name!r}; there are {', '.join(SETS)}. {advice}")
    return negotiation_toml() if name == "negotiation" else (HOME / f"{name}.toml").read_text(encoding="utf-8")


def shipped_instructions(name: str) -> str:
    """The instructions (plain text) that a set which ships is asked with."""
    return (HOME / f"{name}.md").read_text(encoding="utf-8")


def shipped(name: str) -> CriterionSet:
    """A set that ships: `SETS`. Raises InputError: as `shipped_toml`.

    >>> [criterion.name for criterion in shipped("geli").criteria if criterion.reversed]
    ['fluency', 'sensible', 'specific', 'inclination']
    """
    return parse_criteria(shipped_toml(name), Path(f"{name}.toml"))


def read_criteria(path: Path) -> CriterionSet:
    """The set in a TOML file. Raises InputError: it cannot be read, is no TOML, or its values are no criteria, such as
    one without wording.
    """
    return parse_criteria(read_text(path), path)


def parse_criteria(text: str, path: Path) -> CriterionSet:
    """The set in a TOML text that was read from ``path``. Raises InputError: as `read_criteria`."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML ({error}). Correct that line.") from None
    try:
        return CriterionSet.model_validate(values)
    except ValidationError as error:
        told = problems(error, called=_called(values), unknown=_unknown)
        raise InputError("\n".join(f"{path}: {problem}" for problem in told)) from None


def _called(values: Mapping[str, Any]) -> Any:
    """From ``criteria.2.question`` to words that say which criterion that is."""

    def called(place: str) -> str:
        first, _, rest = place.partition(".")
        number, _, field = rest.partition(".")
        if first != "criteria" or not number.isdigit():
            return place
        entry = values["criteria"][int(number)]
        name = entry.get("name") if isinstance(entry, dict) else None
        named = f"criterion {int(number) + 1}" + (f" ({name})" if name else "")
        return f"{named}: {field}" if field else named

    return called


def _unknown(place: Place) -> str:
    known: type[Settings] = (CriterionSet, Reason, Criterion)[min(len(place), 3) - 1]
    return did_you_mean(str(place[-1]), known.model_fields, "remove it")


HEAD = """\
# Ten questions on an agent that negotiated: the wording of Table 1 of Kwon et al. The paper gives no scales but
# "5-point Likert" (section 6.2); what their ends mean is ours. They are told as they were answered: a high value of
# `pushover` and of `difficulty` is not a good one. The tenth question is the one that is answered in words.
title = "What people thought of a negotiator"
source = "Kwon et al., Table 1; section 6.2 (5-point Likert scale)"
"""


def negotiation_toml() -> str:
    """The set as TOML; `apportion.environments.negotiation.human_study.survey` says the questions."""
    parts = [HEAD]
    parts += [_criterion(question) for question in SURVEY if question.scaled]
    (words,) = (question for question in SURVEY if not question.scaled)
    parts.append(f"[reason]\nquestion = {toml_text(words.text)}\nrequired = false\n")
    return "\n".join(parts)


def _criterion(question: Question) -> str:
    values = {
        "name": question.name,
        "question": question.text,
        "kind": "rating",
        "about": "dialogue",
        "low": LOW,
        "high": HIGH,
        "anchors": {LOW: question.low, HIGH: question.high},
    }
    return "[[criteria]]\n" + "".join(f"{name} = {toml_text(value)}\n" for name, value in values.items())
