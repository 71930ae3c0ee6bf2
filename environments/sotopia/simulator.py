"""SOTOPIA's simulator: a session that `simulate sotopia` made finds its task, rules, seed, acts and agents again.

How to use it::

    session = Corpus.open(folder).session("used_bicycle-0-conceding-conceding-0")
    reopened = SIMULATOR.reopen(session, folder, complete)     # or environments.simulators.open_session(...)
    game = reopened.before_turn(4)                             # a Sotopia of your own, four turns in
    play(game, reopened.agents)                                # environments.play; or act by act: game.do(Act(...))
    game.outcome()["Ann Lee"]["GOAL"]
    reopened.play_on("Ann Lee", {0, 4}, seeds=(0, 1))          # H(S) of SAVOIR, played on twice: two `Ending`s
    reopened.as_it_stands("Ann Lee", {0, 4})                   # the same history, scored and not played on
    SIMULATOR.reopen(session, folder, complete, agents={"Bob": "react@qwen3"}, judge=my_judge)

Everything is found in `episodes.jsonl` beside the tables: the names of bundled scenarios and characters, or the whole
task. Agents play on as they were called: scripts and a package's by their names; language models by ``base@MODEL``,
asked through ``complete`` with the temperature of the corpus. Who cannot play again (a person) is an error only when
asked. Scores are those of the judge ``rules`` unless another `environments.verdict.Judge` is handed in. A run names
both, and how models are asked, by an `environments.cast.Cast`: ``SIMULATOR.recast(cast).open(session, folder,
complete)``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from corpus.placing import RECORD
from corpus.session import Session
from environments.agents.agent import Agent
from environments.agents.language_model import PROMPTS, TEMPERATURE, LanguageModelAgent, revised
from environments.cast import SELF, Cast
from environments.episode_log import LoggedEpisode, read_log
from environments.logged_session import MADE_BEFORE
from environments.reopened import Absent, Reopened
from environments.sotopia.agents import asked_by, scripted
from environments.sotopia.game import Rules, Sotopia
from environments.sotopia.judging.language_model import PROMPTS as JUDGES
from environments.sotopia.judging.language_model import ModelJudge
from environments.sotopia.judging.of_environment import JudgedByModel
from environments.sotopia.simulation import LOG
from environments.sotopia.sources.record import bundled_task, task_of, task_record
from environments.sotopia.tasks import Task
from environments.to_corpus import RULES, heard_in
from environments.verdict import BY_RULES, Judge
from foundation.characters import IN_TABLES, whole_text
from foundation.errors import ApportionError, InputError, UnitError
from foundation.files import canonical_json
from llm_client.asker import Complete
from llm_client.prompts.prompt_file import PromptKind
from llm_client.settings import LLMSettings
from llm_client.styled import StyledModel

MADE = f"simulated: {Sotopia.kind}, "
"""How the source of our sessions begins."""


@dataclass(frozen=True)
class SotopiaSimulator:
    """A `Simulator`; keeps nothing but what it last read of a log."""

    version: int = 1
    """Of the rules by which a session plays on; another one makes finished work stale."""
    cast: Cast = field(default_factory=Cast)
    """Who plays on and scores."""

    def recast(self, cast: Cast) -> SotopiaSimulator:
        """The same, whose sessions are played on and scored by ``cast``; raises as `Recastable.recast`."""
        recast = replace(self, cast=cast)
        if recast._judge is not None:
            JUDGES.header_of(recast._judge.style)
        for name in {cast.target, cast.partner} - {SELF}:
            asked = asked_by(name, cast.chosen)
            if asked is None:
                scripted(name)
            else:
                revised(asked.style)
        return recast

    def identity(self, session: Session, corpus: Path) -> Mapping[str, Any] | None:
        """Version, judge, agents, and a digest of what was done in which task; None for sessions of others."""
        if not (session.source or "").startswith(MADE):
            return None
        ours = {"environment": Sotopia.kind, "version": self.version, "judge": RULES}
        try:
            logged = _logged(session, corpus)
            task = task_record(task_in(logged))
        except ApportionError:
            return {**ours, "episode": None}  # Told when it is opened.
        acts = [[[move.agent, *move.act.record()] for move in moves] for moves in logged.steps]
        text = canonical_json([logged.opening, task, acts])
        played = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        made = {**ours, "temperature": _temperature(corpus), "episode": played}
        # Where scripts play on as they did and rules score, sessions are known as before others could.
        by = {"cast": self._cast_identity(logged, corpus)} if self.cast.changes or self.asked(session, corpus) else {}
        return {**made, **by}

    def asked(self, session: Session, corpus: Path) -> tuple[LLMSettings, ...]:
        """As `environments.simulator.Recastable.asked`."""
        try:
            logged = _logged(session, corpus)
        except ApportionError:
            return ()
        models = [self._judge.settings] if self._judge is not None else []
        models += [one.settings for one in self._models(logged, corpus).values() if one is not None]
        return tuple({model.model: model for model in models}.values())

    def open(self, session: Session, corpus: Path, complete: Complete) -> Reopened:
        """The session, played on and scored by the cast; raises as `reopen`."""
        judge: Judge = BY_RULES if self._judge is None else JudgedByModel(self._judge, complete)
        reopened = self.reopen(session, corpus, complete, judge=judge)
        if not self.cast.plays:
            return reopened
        made = dict(_logged(session, corpus).opening["agents"])
        others = {
            target: {
                seat: self._found(name, corpus, complete)
                for seat, called in made.items()
                if (name := self.cast.named(called, target=seat == target)) != called
            }
            for target in made
        }
        return replace(reopened, others=others)

    def reopen(
        self,
        session: Session,
        corpus: Path,
        complete: Complete,
        *,
        agents: Mapping[str, str] | None = None,
        judge: Judge = BY_RULES,
    ) -> Reopened:
        """A session at any of its acts.

        Parameters
        ----------
        session : Session
            One of `simulate sotopia`.
        corpus : Path
            Its folder, with the log.
        complete : callable
            Asks the language models among the agents.
        agents : mapping of str to str, optional
            By character, the name of who plays on in place of the one that made the session.
        judge : Judge
            Who scores.

        Raises
        ------
        InputError
            A named agent that there is not, or that acts for nobody in it.
        UnitError
            The log is not there, damaged, holds no such episode, or other words than the session.
        """
        try:
            logged = _logged(session, corpus)
            task = task_in(logged)
            game = Sotopia(task, Rules(**logged.opening["about"]["rules"]))
            game.reset(logged.opening["seed"])
        except (InputError, TypeError) as error:
            raise UnitError(f"session {session.session_id}: {error}") from None
        seats = {name: self._found(called, corpus, complete) for name, called in logged.opening["agents"]}
        reopened = Reopened(session.session_id, game, tuple(logged.steps), seats, judge)
        _check_words(session, reopened)
        named = {seat: self._named(called, corpus, complete) for seat, called in (agents or {}).items()}
        return reopened.played_by(named)

    @property
    def _judge(self) -> ModelJudge | None:
        return None if self.cast.judge == RULES else ModelJudge.of(self.cast.judge, self.cast.chosen)

    def _models(self, logged: LoggedEpisode, corpus: Path) -> dict[str, StyledModel | None]:
        """By the name of each who may play on, the language model that it is; None: it is none."""
        if not self.cast.plays:
            return {}
        made = [called for _, called in logged.opening["agents"]]
        names = {self.cast.named(called, target=target) for called in made for target in (True, False)}
        found: dict[str, StyledModel | None] = {}
        for name in sorted(names):
            try:
                found[name] = asked_by(name, self.cast.chosen, temperature=self._temperature(corpus))
            except InputError:
                found[name] = None  # Who cannot play again is told of when asked.
        return found

    def _cast_identity(self, logged: LoggedEpisode, corpus: Path) -> Mapping[str, Any]:
        models = self._models(logged, corpus)
        agents = {
            name: None if one is None else _asking(PROMPTS, one.style, one.settings) for name, one in models.items()
        }
        parts = [self.cast.target, self.cast.partner] if self.cast.plays else None
        judge = self._judge
        return {
            "parts": parts,
            "agents": agents,
            "judge": RULES if judge is None else [judge.called, _asking(JUDGES, judge.style, judge.settings)],
        }

    def _temperature(self, corpus: Path) -> float:
        return _temperature(corpus) if self.cast.temperature is None else self.cast.temperature

    def _found(self, called: str, corpus: Path, complete: Complete) -> Agent:
        """Who is called so; somebody who cannot play is told of when asked."""
        try:
            return self._named(called, corpus, complete)
        except InputError as error:
            return Absent(called, f"{error} Name another agent for this seat.")

    def _named(self, name: str, corpus: Path, complete: Complete) -> Agent:
        asked = asked_by(name, self.cast.chosen, temperature=self._temperature(corpus))
        if asked is None:
            return scripted(name)
        return LanguageModelAgent(asked.called, asked.style, asked.settings, complete)


SIMULATOR = SotopiaSimulator()


def _logged(session: Session, corpus: Path) -> LoggedEpisode:
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


def task_in(logged: LoggedEpisode) -> Task:
    """What was played: as the log holds it, or the bundled task of its names.

    Raises
    ------
    InputError
        The log has none, and no bundled scenario and characters are called so.
    """
    about, names = logged.opening["about"], tuple(name for name, _ in logged.opening["agents"])
    if "task" in about:
        return task_of(about["task"])
    task = bundled_task(about["scenario"], names)
    if task is None:
        raise InputError(f"no bundled scenario {about['scenario']!r} with {' and '.join(names)}, and the log has none")
    return task


def _temperature(corpus: Path) -> float:
    try:
        record = json.loads((corpus / RECORD).read_text(encoding="utf-8"))
        while MADE_BEFORE in record:
            record = record[MADE_BEFORE]
        return float(record.get("temperature", TEMPERATURE))
    except (OSError, ValueError, TypeError, AttributeError):
        return TEMPERATURE


def _asking(prompts: PromptKind, style: str, settings: LLMSettings) -> list[Any]:
    """What of a prompt and its model decides the replies; a file counts by its text."""
    texts = [prompts.find(style).read_bytes()]
    draft = prompts.header_of(style).get("revises")
    if draft is not None:
        texts.append(prompts.find(draft).read_bytes())
    return [[hashlib.sha256(text).hexdigest() for text in texts], settings.asking]


def _check_words(session: Session, reopened: Reopened) -> None:
    heard = heard_in(reopened.begun, reopened.steps)
    for turn, (told, logged) in enumerate(zip(session.turns, heard, strict=False)):
        if (told.speaker, told.text) != (logged[0], whole_text(logged[1], IN_TABLES)):
            raise UnitError(
                f"session {session.session_id}, turn {turn}: the log has other words than the corpus, so that what "
                "would be played on is not what would be credited. Simulate the corpus again"
            )
    if len(heard) != len(session.turns):
        raise UnitError(f"session {session.session_id}: {len(session.turns)} turns, and {len(heard)} in the log")
