"""An episode of SOTOPIA: agents with private goals act by turns (section 2.2, Appendix C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.environment import Action, AgentAction, Environment, InvalidActionError, Step
from apportion.environments.sotopia.goal_checks import SeatAct
from apportion.environments.sotopia.observation import (
    KINDS,
    LEAVE,
    NONE,
    SPEAK,
    RoleInformation,
    act_of,
    done,
    in_words,
    part_of,
)
from apportion.environments.sotopia.rule_evaluator import judge_by_rules
from apportion.environments.sotopia.tasks import Task, Visibility, field_words
from apportion.foundation.errors import InputError

_BEGINNINGS = tuple(f"[{kind}]" for kind in KINDS)
MOST_WORDS = 20_000
"""Characters of one act: what is longer is no utterance."""


@dataclass(frozen=True)
class Rules:
    """What may differ between studies.

    ``visibility`` is ``paper`` (section 2.1) or ``released`` (what the code of 0.1.4 shows). An episode ends after
    ``most_acts`` acts of all agents together, when somebody leaves, or after ``most_silent`` times ``none`` in a row
    (the released code's rule; 0 is none).
    """

    visibility: Visibility = "released"
    most_acts: int = 20
    most_silent: int = 3

    def __post_init__(self) -> None:
        if self.most_acts < 1 or self.most_silent < 0:
            raise InputError(f"most_acts = {self.most_acts}, most_silent = {self.most_silent}: at least 1 and 0")


@dataclass(frozen=True)
class Facts:
    """What an agent knows, as data for scripts: its part from before the first act, and what was done, by seat."""

    part: RoleInformation
    acts: Sequence[SeatAct]


class Sotopia(Environment):
    """A task that agents play; each is called as its character is.

    ``task``: The scenario and who plays it. ``rules``: Visibility and when it ends.
    """

    kind: ClassVar[str] = "sotopia"

    def __init__(self, task: Task, rules: Rules | None = None) -> None:
        self.task, self.rules = task, rules or Rules()
        self.acts: list[SeatAct] = []
        self._parts: dict[str, RoleInformation] = {}
        super().__init__(character.name for character in task.characters)

    def acting(self) -> tuple[str, ...]:
        """One agent after the other, in the order of the seats."""
        if self._ended:
            return ()
        return (self.agents[len(self.acts) % len(self.agents)],)

    @property
    def most_steps(self) -> int:
        """An act a step."""
        return self.rules.most_acts

    @property
    def kinds(self) -> tuple[str, ...]:
        """The same at every turn."""
        return KINDS

    def legal(self, agent: str) -> tuple[str, ...]:
        """All five acts, when it is the agent's turn."""
        return KINDS if agent in self.acting() else ()

    def observe(self, agent: str) -> str:
        """The agent's part, and what was done."""
        return in_words(self._part(agent), self.acts, self.rules.most_acts, self.legal(agent))

    def facts(self, agent: str) -> Facts:
        """The agent's part, and what was done, as data."""
        return Facts(self._part(agent), self.acts)

    def outcome(self) -> dict[str, dict[str, float | None]]:
        """What the judge ``rules`` says: GOAL, FIN and SEC of scenarios that rules can check."""
        return dict(zip(self.agents, judge_by_rules(self.task, self.acts), strict=True))

    def scales(self) -> dict[str, tuple[float, float]]:
        """The ranges of section 3."""
        return dict(RANGES)

    def said(self, move: AgentAction) -> str | None:
        """The words of an act; every act but speech with its kind before it, as imported episodes have it.

        Speech that begins as if it were another act has its kind before it, too.
        """
        if move.act.kind == SPEAK:
            return f"[{SPEAK}] {move.act.text}" if move.act.text.lower().startswith(_BEGINNINGS) else move.act.text
        return f"[{move.act.kind}] {move.act.text or done(move.act)}"

    def meant(self, agent: str, text: str) -> Action:
        """Speech, unless a kind of act stands before the words (`[physical action] offer: 85`); no words: silence."""
        kind, words = act_of(text)
        if kind == LEAVE:
            return Action(LEAVE)
        return Action(NONE) if kind == NONE or not words.strip() else Action(kind, words)

    def backgrounds(self) -> list[tuple[str | None, str, str]]:
        """The scenario for all; goal and profile for each agent alone, and what of the scenario is only for it."""
        public = self.task.scenario.public
        rows: list[tuple[str | None, str, str]] = [(None, "scenario", public)]
        for seat, name in enumerate(self.agents):
            part = self._part(name)
            if part.context != public:
                rows.append((name, "scenario", part.context))
            rows.append((name, "goal", part.goal))
            rows.append(
                (name, "profile", "; ".join(f"{field}: {field_words(v)}" for field, v in part.profiles[seat].items()))
            )
        return rows

    def _begin(self) -> None:
        self.acts = []
        self._silent = 0
        self._ended = False

    def _own(self) -> None:
        self.acts = self.acts.copy()

    def _check(self, agent: str, act: Action) -> None:
        if len(act.text) > MOST_WORDS:
            raise InvalidActionError(
                f"{agent!r} says {len(act.text):,} characters at once; at most {MOST_WORDS:,} are an act"
            )
        if act.kind not in (NONE, LEAVE) and not act.text.strip():
            raise InvalidActionError(f"{agent!r} does {act.kind!r} without words; say what, or do {NONE!r}")

    def _apply(self, moves: Step) -> None:
        (move,) = moves
        self.acts.append((self.agents.index(move.agent), move.act))
        self._silent = self._silent + 1 if move.act.kind == NONE else 0
        self._ended = (
            move.act.kind == LEAVE
            or len(self.acts) >= self.rules.most_acts
            or 0 < self.rules.most_silent <= self._silent
        )

    def _part(self, agent: str) -> RoleInformation:
        if agent not in self._parts:
            self._parts[agent] = part_of(self.task, self.agents.index(agent), self.rules.visibility)
        return self._parts[agent]
