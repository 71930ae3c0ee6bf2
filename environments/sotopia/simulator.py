"""SOTOPIA's simulator: a session that `simulate sotopia` made finds its task, rules, seed, acts and agents again.

How to use it::

    session = Corpus.open(folder).session("used_bicycle-0-conceding-conceding-0")
    restored = SIMULATOR.restore(session, folder, complete)     # or environments.simulators.open_session(...)
    game = restored.before_turn(4)                             # a Sotopia of your own, four turns in
    play(game, restored.agents)                                # environments.play; or act by act: game.do(Action(...))
    game.outcome()["Ann Lee"]["GOAL"]
    restored.play_on("Ann Lee", {0, 4}, seeds=(0, 1))          # H(S) of SAVOIR, played on twice: two `Ending`s
    restored.as_it_stands("Ann Lee", {0, 4})                   # the same history, scored and not played on
    SIMULATOR.restore(session, folder, complete, agents={"Bob": "react@qwen3"}, judge=my_judge)

Everything is found in `episodes.jsonl` beside the tables: the names of bundled scenarios and characters, or the whole
task. Agents play on as they were called: scripts and a package's by their names; language models by ``base@MODEL``,
asked through ``complete`` with the temperature of the corpus. Who cannot play again (a person) is an error only when
asked. Scores are those of the judge ``rules`` unless another `Judge` is handed in. A run
names both, and how models are asked, by an `apportion.environments.role_assignment.RoleAssignment`:
``SIMULATOR.recast(cast).open(session, folder, complete)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from apportion.corpus.session import Session
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.corpus_export import RULES
from apportion.environments.environment import Environment
from apportion.environments.episode_log import LoggedEpisode
from apportion.environments.episode_replay import asking_identity, check_cast, logged_episode
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.role_assignment import BY_RULES, Judge, RoleAssignment
from apportion.environments.simulation.rule_scored import GameSimulator
from apportion.environments.sotopia.agents import ROSTER
from apportion.environments.sotopia.evaluation.language_model import PROMPTS as JUDGES
from apportion.environments.sotopia.evaluation.language_model import ModelJudge
from apportion.environments.sotopia.evaluation.online_judge import JudgedByModel
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources.serialization import bundled_task, task_of, task_record
from apportion.environments.sotopia.tasks import Task
from apportion.foundation.errors import InputError
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings


def _configured(field: str) -> str:
    """What a run's configuration calls it."""
    return "scorer" if field == "judges" else field


def _unnamed(about: Mapping[str, Any]) -> Environment:
    raise AssertionError("a social episode is made of its log, which names who plays")


@dataclass(frozen=True)
class SotopiaSimulator(GameSimulator):
    """A `GameSimulator` whose sessions a language model may score, too."""

    kind: str = Sotopia.kind
    game: Callable[[Mapping[str, Any]], Environment] = _unnamed
    roster: AgentRegistry = ROSTER

    def recast(self, cast: RoleAssignment) -> Self:
        """The same, whose sessions are played on and scored by ``cast``.

        Raises InputError: there is no such agent or judge.
        """
        check_cast(ROSTER, cast)
        recast = replace(self, cast=cast)
        if recast._judge is not None:
            JUDGES.header_of(recast._judge.style)
        return recast

    def restore(
        self,
        session: Session,
        corpus: Path,
        complete: Complete,
        *,
        agents: Mapping[str, str] | None = None,
        judge: Judge = BY_RULES,
    ) -> RestoredEpisode:
        """A session at any of its acts.

        ``session``: One of `simulate sotopia`. ``corpus``: Its folder, with the log. ``complete``: Asks the language
        models among the agents. ``agents``: By character, the name of who plays on in place of the one that made the
        session. ``judge``: Who scores. Raises InputError: A named agent that there is not, or that acts for nobody in
        it. Raises UnitError: The log is not there, damaged, holds no such episode, or other words than the session.
        """
        restored = replace(self._restored(session, corpus, complete, judge), others={})
        seats = self._seats(logged_episode(session, corpus), corpus)
        return restored.played_by({seat: seats.agent(called, complete) for seat, called in (agents or {}).items()})

    @property
    def _judge(self) -> ModelJudge | None:
        if self.cast.judge == RULES:
            return None
        return ModelJudge.of(self.cast.judge, self.cast.chosen, called=_configured)

    def _environment(self, logged: LoggedEpisode) -> Environment:
        return Sotopia(task_in(logged), Rules(**logged.opening["about"]["rules"]))

    def _context(self, logged: LoggedEpisode) -> tuple[Any, ...]:
        return (task_record(task_in(logged)),)

    def _scorer(self, complete: Complete) -> Judge:
        return BY_RULES if self._judge is None else JudgedByModel(self._judge, complete)

    def _judge_identity(self) -> Mapping[str, Any]:
        judge = self._judge
        return (
            {}
            if judge is None
            else {"judge": [judge.called, asking_identity([JUDGES.find(judge.style)], judge.settings)]}
        )

    def _judge_settings(self) -> Sequence[LLMSettings]:
        return () if self._judge is None else (self._judge.settings,)


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
