"""A session's episode, found again in the log beside its tables, and who plays it on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from apportion.corpus.account import RECORD
from apportion.corpus.session import Session
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.corpus_export import heard_in
from apportion.environments.episode_log import LOG, LoggedEpisode, read_log
from apportion.environments.restored_episode import MissingAgent, RestoredEpisode
from apportion.environments.role_assignment import SELF, RoleAssignment
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import canonical_json
from apportion.foundation.safe_text import IN_TABLES, whole_text
from apportion.llm_client.prompt_style import StyledModel
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings

MADE_BEFORE = "made"
"""In the record of a corpus that was made from a simulated one, the record of that."""


def made_by(session: Session, kind: str) -> bool:
    """Whether an environment of a kind made a session, by its source (`environments.corpus_export.source_of`)."""
    return (session.source or "").startswith(f"simulated: {kind}, ")


def logged_episode(session: Session, corpus: Path) -> LoggedEpisode:
    """What the log in the folder ``corpus`` holds of a session.

    Raises UnitError: The log is not there, or has no such episode. Raises InputError: It is damaged.
    """
    path = corpus / LOG
    try:
        status = path.stat()
    except OSError:
        raise UnitError(
            f"session {session.session_id}: {path} is not there, which holds what was played. Bring it beside the "
            "tables, or simulate the corpus again"
        ) from None
    episode = _read(path, status.st_mtime_ns, status.st_size).get(session.session_id)
    if episode is None:
        raise UnitError(f"session {session.session_id}: {path} holds no episode of this name")
    return episode


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int, size: int) -> Mapping[str, LoggedEpisode]:
    return read_log(path)


def digest_of(logged: LoggedEpisode, *more: Any) -> str:
    """sha256 of what an episode is and what was done in it, and of ``more`` that decides how it plays on, as JSON."""
    acts = [[[move.agent, *move.act.record()] for move in moves] for moves in logged.steps]
    text = canonical_json([logged.opening, *more, acts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_words(session: Session, restored: RestoredEpisode) -> None:
    """Hold a session's turns to its log.

    Raises UnitError: the log has other words, so that what would be played on is not what would be credited.
    """
    heard = heard_in(restored.begun, restored.steps)
    for turn, (told, logged) in enumerate(zip(session.turns, heard, strict=False)):
        if (told.speaker, told.text) != (logged[0], whole_text(logged[1], IN_TABLES)):
            raise UnitError(
                f"session {session.session_id}, turn {turn}: the log has other words than the corpus, so that what "
                "would be played on is not what would be credited. Simulate the corpus again"
            )
    if len(heard) != len(session.turns):
        raise UnitError(f"session {session.session_id}: {len(session.turns)} turns, and {len(heard)} in the log")


def temperature_of(corpus: Path) -> float:
    """Of the language models that made a corpus, as its record says; where it says nothing, what is usual."""
    try:
        record = json.loads((corpus / RECORD).read_text(encoding="utf-8"))
        while MADE_BEFORE in record:
            record = record[MADE_BEFORE]
        return float(record.get("temperature", TEMPERATURE))
    except (OSError, ValueError, TypeError, AttributeError):
        return TEMPERATURE


@dataclass(frozen=True)
class Seats:
    """Who plays a logged episode on: those who made it, or whom a cast names.

    ``roster``: The environment's agents. ``cast``: Who is named. ``made``: By the environment's agents, who made the
    session. ``temperature``: Of language models, where the cast does not say.
    """

    roster: AgentRegistry
    cast: RoleAssignment
    made: Mapping[str, str]
    temperature: float

    @classmethod
    def of(cls, logged: LoggedEpisode, corpus: Path, roster: AgentRegistry, cast: RoleAssignment) -> Self:
        """Of an episode in the log of the folder ``corpus``."""
        of_corpus = temperature_of(corpus) if cast.temperature is None else cast.temperature
        return cls(roster, cast, dict(logged.opening["agents"]), of_corpus)

    def agent(self, name: str, complete: Complete) -> Agent:
        """The agent of a name; raises InputError where there is none."""
        asked = self._asked_by(name)
        return self.roster.scripted(name) if asked is None else self.roster.asking(name, asked, complete)

    def again(self, complete: Complete) -> dict[str, Agent]:
        """By the environment's agents, who made the session; somebody who cannot play is told of when asked."""
        return {seat: self._found(called, complete) for seat, called in self.made.items()}

    def others(self, complete: Complete) -> dict[str, dict[str, Agent]]:
        """By target, who plays on in place of them."""
        if not self.cast.plays:
            return {}
        return {
            target: {
                seat: self._found(name, complete)
                for seat, called in self.made.items()
                if (name := self.cast.named(called, target=seat == target)) != called
            }
            for target in self.made
        }

    def models(self) -> dict[str, StyledModel]:
        """By the name of each who may play on and is a language model, that model; in the order of the names."""
        if not self.cast.plays:
            return {}
        names = {self.cast.named(called, target=target) for called in self.made.values() for target in (True, False)}
        found = {}
        for name in sorted(names):
            with suppress(InputError):  # Who cannot play again is told of when asked.
                asked = self._asked_by(name)
                if asked is not None:
                    found[name] = asked
        return found

    def identity(self) -> dict[str, Any]:
        """What decides who plays on, and how models are asked, as JSON; a prompt counts by its text."""
        asked = {
            name: asking_identity(self.roster.prompt_files(model), model.settings)
            for name, model in self.models().items()
        }
        return {"parts": [self.cast.target, self.cast.partner] if self.cast.plays else None, "asked": asked}

    def _asked_by(self, name: str) -> StyledModel | None:
        return self.roster.asked_by(name, self.cast.chosen, temperature=self.temperature)

    def _found(self, called: str, complete: Complete) -> Agent:
        try:
            return self.agent(called, complete)
        except InputError as error:
            return MissingAgent(called, f"{error} Name another agent for this seat.")


def check_cast(roster: AgentRegistry, cast: RoleAssignment) -> None:
    """Whether there is everybody whom a cast names. Raises InputError: there is not, or a prompt cannot be used."""
    for name in sorted({cast.target, cast.partner} - {SELF}):
        asked = roster.asked_by(name, cast.chosen)
        if asked is None:
            roster.scripted(name)
        else:
            roster.prompt_files(asked)


def asking_identity(prompts: Iterable[Path], settings: LLMSettings) -> list[Any]:
    """What of prompts and their model decides the replies, as JSON."""
    return [[hashlib.sha256(path.read_bytes()).hexdigest() for path in prompts], settings.asking]
