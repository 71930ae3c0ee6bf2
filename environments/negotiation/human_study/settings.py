"""A study, as its file says it (TOML)."""

from __future__ import annotations

import tomllib
from functools import cached_property
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from apportion.corpus.files.textfile import read_text
from apportion.environments.negotiation.contexts import Context, read_contexts
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.foundation.settings import Place, Settings, problems


class StudySettings(Settings):
    """What a study asks of people, and with whom they negotiate.

    >>> StudySettings(title="Bargaining", consent="You may stop at any time.", agents=("fair", "greedy")).practice
    'fair'
    """

    title: str = Field(min_length=1, max_length=200, description="what people see first")
    consent: str = Field(
        min_length=1, max_length=20_000, description="what somebody has to agree to before anything is kept of them"
    )
    debriefing: str = Field("", max_length=20_000, description="what people read at the end")
    agents: tuple[str, ...] = Field(min_length=1, max_length=20, description="whom everybody plays, by name; each once")
    practice: str = Field("fair", description="the agent of the practice game, which counts for nothing")
    games: int = Field(1, ge=1, le=10, description="games with each agent")
    contexts: Path | None = Field(
        None, description="a file in the layout of selfplay.txt; without one contexts are drawn"
    )
    seed: int = Field(0, description="of the order and of the contexts")
    most_acts: int = Field(MOST_ACTS, ge=2, le=100, description="acts in all, at most")

    @field_validator("agents")
    @classmethod
    def _each_once(cls, agents: tuple[str, ...]) -> tuple[str, ...]:
        for name in agents:
            if agents.count(name) > 1:
                raise ValueError(f"{name!r} is there twice; name each agent once, and set games for more of them")
        return agents

    @cached_property
    def given_contexts(self) -> tuple[Context, ...]:
        """Those of the file, none without one. Raises InputError: it cannot be read."""
        return () if self.contexts is None else read_contexts(self.contexts)

    @property
    def digest(self) -> str:
        """What tells this study from another one, or from itself before it was changed."""
        contexts = [[context.counts, context.values] for context in self.given_contexts]
        return digest([self.model_dump(mode="json", exclude={"contexts"}), contexts])


def read_study(path: Path) -> StudySettings:
    """The study of a file; a path in it counts from its folder.

    Raises InputError: it cannot be read, is no TOML, or its values are not a study's.
    """
    try:
        values = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML ({error}). Correct that line.") from None
    try:
        study = StudySettings.model_validate(values)
    except ValidationError as error:
        raise InputError("\n".join(f"{path}: {one}" for one in problems(error, unknown=_unknown))) from None
    if study.contexts is not None and not study.contexts.is_absolute():
        study = study.model_copy(update={"contexts": path.parent / study.contexts})
    _ = study.given_contexts  # What is wrong with them is told before anybody sits down.
    return study


def _unknown(place: Place) -> str:
    return did_you_mean(str(place[-1]), StudySettings.model_fields, "remove it")
