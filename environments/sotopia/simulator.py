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
asked. Scores are those of the judge ``rules`` unless another `Judge` is handed in. A run
names both, and how models are asked, by an `apportion.environments.role_assignment.RoleAssignment`:
``SIMULATOR.recast(cast).open(session, folder, complete)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from apportion.corpus.session import Session
from apportion.environments.corpus_export import RULES
from apportion.environments.episode_log import LoggedEpisode
from apportion.environments.episode_replay import (
    Seats,
    asking_identity,
    check_cast,
    check_words,
    digest_of,
    logged_episode,
    made_by,
    temperature_of,
)
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.role_assignment import BY_RULES, Judge, RoleAssignment
from apportion.environments.sotopia.agents import ROSTER
from apportion.environments.sotopia.evaluation.language_model import PROMPTS as JUDGES
from apportion.environments.sotopia.evaluation.language_model import ModelJudge
from apportion.environments.sotopia.evaluation.online_judge import JudgedByModel
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources.serialization import bundled_task, task_of, task_record
from apportion.environments.sotopia.tasks import Task
from apportion.foundation.errors import ApportionError, InputError, UnitError
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings


@dataclass(frozen=True)
class SotopiaSimulator:
    """A `Simulator`; keeps nothing but what it last read of a log."""

    version: int = 1
    """Of the rules by which a session plays on; another one makes finished work stale."""
    cast: RoleAssignment = field(default_factory=RoleAssignment)
    """Who plays on and scores."""

    def recast(self, cast: RoleAssignment) -> SotopiaSimulator:
        """The same, whose sessions are played on and scored by ``cast``; raises as `Recastable.recast`."""
        check_cast(ROSTER, cast)
        recast = replace(self, cast=cast)
        if recast._judge is not None:
            JUDGES.header_of(recast._judge.style)
        return recast

    def identity(self, session: Session, corpus: Path) -> Mapping[str, Any] | None:
        """Version, judge, agents, and a digest of what was done in which task; None for sessions of others."""
        if not made_by(session, Sotopia.kind):
            return None
        ours = {"environment": Sotopia.kind, "version": self.version, "judge": RULES}
        try:
            logged = logged_episode(session, corpus)
            played = digest_of(logged, task_record(task_in(logged)))
        except ApportionError:
            return {**ours, "episode": None}  # Told when it is opened.
        made = {**ours, "temperature": temperature_of(corpus), "episode": played}
        if not self.cast.changes and not self.asked(session, corpus):
            return made  # As sessions were known before others could play on.
        judge, by = self._judge, Seats.of(logged, corpus, ROSTER, self.cast).identity()
        if judge is not None:
            by["judge"] = [judge.called, asking_identity([JUDGES.find(judge.style)], judge.settings)]
        return {**made, "cast": by}

    def asked(self, session: Session, corpus: Path) -> tuple[LLMSettings, ...]:
        """As `apportion.environments.episode_restorer.SupportsAgentReplacement.asked`."""
        try:
            seats = Seats.of(logged_episode(session, corpus), corpus, ROSTER, self.cast)
        except ApportionError:
            return ()
        models = [self._judge.settings] if self._judge is not None else []
        models += [one.settings for one in seats.models().values()]
        return tuple({model.model: model for model in models}.values())

    def open(self, session: Session, corpus: Path, complete: Complete) -> RestoredEpisode:
        """The session, played on and scored by the cast; raises as `reopen`."""
        judge: Judge = BY_RULES if self._judge is None else JudgedByModel(self._judge, complete)
        reopened = self.reopen(session, corpus, complete, judge=judge)
        seats = Seats.of(logged_episode(session, corpus), corpus, ROSTER, self.cast)
        return replace(reopened, others=seats.others(complete))

    def reopen(
        self,
        session: Session,
        corpus: Path,
        complete: Complete,
        *,
        agents: Mapping[str, str] | None = None,
        judge: Judge = BY_RULES,
    ) -> RestoredEpisode:
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
            logged = logged_episode(session, corpus)
            task = task_in(logged)
            game = Sotopia(task, Rules(**logged.opening["about"]["rules"]))
            game.reset(logged.opening["seed"])
        except (InputError, TypeError) as error:
            raise UnitError(f"session {session.session_id}: {error}") from None
        seats = Seats.of(logged, corpus, ROSTER, self.cast)
        reopened = RestoredEpisode(session.session_id, game, tuple(logged.steps), seats.again(complete), judge)
        check_words(session, reopened)
        return reopened.played_by({seat: seats.agent(called, complete) for seat, called in (agents or {}).items()})

    @property
    def _judge(self) -> ModelJudge | None:
        return None if self.cast.judge == RULES else ModelJudge.of(self.cast.judge, self.cast.chosen)


SIMULATOR = SotopiaSimulator()


def task_in(logged: LoggedEpisode) -> Task:
    """What was played: as the log holds it, or the bundled task of its names.

    Raises InputError: the log has none, and no bundled scenario and characters are called so.
    """
    about, names = logged.opening["about"], tuple(name for name, _ in logged.opening["agents"])
    if "task" in about:
        return task_of(about["task"])
    task = bundled_task(about["scenario"], names)
    if task is None:
        raise InputError(f"no bundled scenario {about['scenario']!r} with {' and '.join(names)}, and the log has none")
    return task
