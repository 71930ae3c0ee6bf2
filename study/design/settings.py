"""A study's own settings, as its file says them (TOML)."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints, ValidationError, model_validator

from apportion.corpus.files.textfile import read_text
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Place, Settings, problems
from apportion.foundation.toml_text import toml_text

Id = Annotated[str, StringConstraints(pattern=r"^[a-z][0-9]{4,6}$")]


class StudySettings(Settings):
    """Who gets how many items, and how a study ends; names of policies are in none of them.

    >>> StudySettings(title="Which chatbot?", seed=1).annotators_per_item
    3
    """

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset(
        {"public", "public_limit", "completion", "abandoned_after_hours", "least_seconds"}
    )
    """What may be changed after the first answer: it changes nothing of what is asked."""

    title: str = Field(min_length=1, max_length=200, description="What annotators see first.")
    version: int = Field(1, ge=1, description="Counted up by `apportion study init --from STUDY NEW`.")
    made_from: str = Field("", max_length=64, description="The digest of the version that this one was made from.")
    seed: int = Field(
        ge=0,
        lt=2**63,
        description="Of orders and letters. Who knows it can find out whose a response is: keep it to yourself.",
    )
    annotators_per_item: int = Field(3, ge=1, le=1_000, description="How many people answer each item.")
    items_per_annotator: int = Field(
        20, ge=1, le=10_000, description="Items that one person answers at most; checks and practice come on top."
    )
    practice: tuple[Id, ...] = Field((), description="Items that everybody answers first, and that count for nothing.")
    checks_every: int = Field(
        10, ge=0, le=1_000, description="One attention check in so many items, at a place drawn for each; 0: none."
    )
    least_seconds: float = Field(
        0.0, ge=0, le=600, description="Who answers items faster than this, by the median, is flagged in the report."
    )
    abandoned_after_hours: float = Field(
        24.0, gt=0, le=8_760, description="Items of somebody who answered nothing for so long go to others."
    )
    completion: str = Field(
        pattern=r"^[A-Za-z0-9_-]{1,64}$", default="DONE", description="The code that is shown at the end."
    )
    public: bool = Field(False, description="Whether one link lets anybody in; else everybody has a link of their own.")
    public_limit: int = Field(100, ge=1, le=100_000, description="How many people the public link lets in at most.")

    @model_validator(mode="after")
    def _checks_are_met(self) -> StudySettings:
        if self.checks_every > self.items_per_annotator:
            raise ValueError(
                f"checks_every = {self.checks_every}, and an annotator has {self.items_per_annotator} items: nobody "
                "would meet a check. Ask for one more often, or set it to 0"
            )
        if len(set(self.practice)) < len(self.practice):
            raise ValueError("practice: an item is named twice")
        return self


HEAD = """\
# A study. After the first answer it is refused when it was changed, but for the settings marked with (*);
# `apportion study init --from THIS NEW` makes a new version of it. criteria.toml says what is asked.
"""


def settings_text(settings: StudySettings) -> str:
    """``study.toml``."""
    parts = [HEAD]
    for name, field in StudySettings.model_fields.items():
        marked = f"{'(*) ' if name in StudySettings.NOT_IN_KEY else ''}{field.description}"
        comment = textwrap.fill(marked, 118, initial_indent="# ", subsequent_indent="# ")
        parts.append(f"{comment}\n{name} = {toml_text(getattr(settings, name))}\n")
    return "\n".join(parts)


def read_settings(path: Path) -> StudySettings:
    """The settings in a study's file. Raises InputError: it cannot be read, is no TOML, or its values are not a
    study's.
    """
    try:
        return StudySettings.model_validate(tomllib.loads(read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML ({error}). Correct that line.") from None
    except ValidationError as error:
        raise InputError("\n".join(f"{path}: {one}" for one in problems(error, unknown=_unknown))) from None


def _unknown(place: Place) -> str:
    return did_you_mean(str(place[-1]), StudySettings.model_fields, "remove it")
