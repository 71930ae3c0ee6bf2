"""A session opened again: its environment before any of its acts, played on by whoever is named, scored by a judge."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Environment, InvalidActionError, Observation, Step
from apportion.environments.episode_restorer import TerminalState
from apportion.environments.role_assignment import BY_RULES, Judge
from apportion.environments.rollout_preview import AsksForVerdicts, NotCachedError, PlannedRollouts, Prompt, prompts_of
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import UnitError


class EpisodeLocation(NamedTuple):
    """Where a turn of the session stands in the episode: its step, and who spoke."""

    step: int
    agent: str


@dataclass(frozen=True)
class MissingAgent:
    """Stands for an agent that cannot play again (a person, a package that is gone); only asking it is an error."""

    called: str
    why: str
    paid: bool = False

    def act(self, view: Observation) -> Action:
        """Never acts. Raises UnitError: always: why it cannot."""
        raise UnitError(f"{self.called!r} ({view.agent}) cannot play on: {self.why}")


@dataclass(frozen=True)
class RestoredEpisode:
    """An episode that can be placed after any prefix of its acts; a `Rollable`.

    Safe to use from several threads at once: every play has a clone of its own.

    ``session_id``: Of the session, for errors. ``begun``: Reset by the episode's seed, and nothing done yet; belongs to
    this object alone. ``steps``: What was done. ``agents``: By the environment's agents, who plays on. ``judge``: Who
    scores. ``others``: By the target that is credited, who plays on in place of ``agents`` then, by the environment's
    agents. Raises UnitError: The steps are not allowed by the rules of today.
    """

    session_id: str
    begun: Environment
    steps: tuple[Step, ...]
    agents: Mapping[str, Agent]
    judge: Judge = BY_RULES
    others: Mapping[str, Mapping[str, Agent]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _ = self._after  # Played again now, so that a damaged log is told at once.

    def after(self, steps: int) -> Environment:
        """The environment after that many of its steps, ready to go on; a clone of its own for every call.

        Raises UnitError: the episode has fewer.
        """
        if not 0 <= steps <= len(self.steps):
            raise UnitError(f"session {self.session_id}: {steps} steps of {len(self.steps)}")
        return self._after[steps].clone()

    def before_turn(self, turn: int) -> Environment:
        """The environment right before a turn of the session is done; raises UnitError where there is no such turn."""
        if not 0 <= turn < len(self.places):
            raise UnitError(f"session {self.session_id}: turn {turn} of {len(self.places)}")
        return self.after(self.places[turn].step)

    @cached_property
    def places(self) -> tuple[EpisodeLocation, ...]:
        """By number of the session's turns, where each stands: acts that nobody hears are no turns."""
        return tuple(EpisodeLocation(step, speaker) for step, speaker, _ in self.begun.turns(self.steps))

    def turns_of(self, target: str) -> tuple[int, ...]:
        """Numbers of the turns in which ``target`` speaks. Raises UnitError: nobody is called so."""
        agents = self.begun.agents
        if target not in agents:
            hint = did_you_mean(target, agents, f"there are {', '.join(agents)}")
            raise UnitError(f"session {self.session_id}: nobody is called {target!r}; {hint}")
        return tuple(turn for turn, place in enumerate(self.places) if place.agent == target)

    def played_by(self, agents: Mapping[str, Agent]) -> RestoredEpisode:
        """The same with others in some seats, by the environment's agents."""
        for name in agents:
            self.turns_of(name)
        return replace(self, agents={**self.agents, **agents})

    def players(self, target: str) -> Mapping[str, Agent]:
        """By the environment's agents, who plays on where ``target``'s acts are credited."""
        return {**self.agents, **self.others.get(target, {})}

    @property
    def scored_for_nothing(self) -> bool:
        """Whether the whole session has a score that nobody has to be asked for: it has ended, and rules score."""
        return self.judge.called == BY_RULES.called and self._after[-1].over

    @property
    def waits(self) -> bool:
        """Whether playing on waits for others (a server, a person), so that plays are better done side by side."""
        players = (agent for target in self.begun.agents for agent in self.players(target).values())
        return getattr(self.judge, "paid", False) or any(agent.paid for agent in players)

    def history(self, target: str, kept: Collection[int]) -> tuple[Environment, int]:
        """H(S) of SAVOIR, section 3.2, and how many acts the rules did not allow in it.

        ``target``: Whose acts are the players. ``kept``: The coalition S: turns of ``target``. Everything before its
        first turn is kept; a turn that is left out takes what others say before its next turn along. Acts that nobody
        hears stay where the rules allow them, unless the environment says that they follow from what was heard
        (`Environment.unheard_acts_stay`): these are left to whoever plays on. What is left out may have something in
        its place (`Environment.instead`). Raises UnitError: A turn is none of ``target``'s.
        """
        own = self.turns_of(target)
        for turn in sorted(set(kept) - set(own)):
            raise UnitError(f"session {self.session_id}: turn {turn} is none of {target!r}; it has {own}")
        begin = {self.places[turn].step: turn in kept for turn in own}
        unheard_stay = self.begun.unheard_acts_stay or all(begin.values())
        placed, dropped, keeping = self.begun.clone(), 0, True
        for number, moves in enumerate(self.steps):
            keeping = begin.get(number, keeping)
            heard = any(placed.said(move) is not None for move in moves)
            done: Step | None = moves if (keeping if heard else unheard_stay) else placed.instead(moves)
            if done is None:
                continue
            try:
                placed.step(dict(done))
            except InvalidActionError:
                dropped += len(moves)
        return placed, dropped

    def play_on(self, target: str, kept: Collection[int], seeds: Sequence[int]) -> list[TerminalState]:
        """As `Rollable.play_on`; what is drawn after the history is drawn by the seed alone."""
        placed, dropped = self.history(target, kept)
        if placed.over:
            return [self._ending(placed, target, 0, dropped)] * len(seeds)
        endings = []
        for seed in seeds:
            played = placed.clone()
            played.reseed(seed)
            play(played, self.players(target))
            acts = sum(len(moves) for moves in played.steps[len(placed.steps) :])
            endings.append(self._ending(played, target, acts, dropped))
        return endings

    def as_it_stands(self, target: str, kept: Collection[int]) -> TerminalState:
        """As `Rollable.as_it_stands`."""
        placed, dropped = self.history(target, kept)
        return self._ending(placed, target, 0, dropped)

    def ahead(self, target: str, kept: Collection[int], seed: int | None) -> PlannedRollouts:
        """As `PredictedRequests.ahead`, where agents and judge ask `rollout_preview.kept_alone`."""
        played, _ = self.history(target, kept)
        begun, asked = len(played.steps), None
        try:
            if seed is not None and not played.over:
                played.reseed(seed)
                play(played, self.players(target))
            self.judge.verdict(played)
        except NotCachedError as next_:
            asked = next_.request
        over = played.over or seed is None
        return PlannedRollouts(begun, len(played.steps), over, asked, self.begun.most_steps)

    def prompts(self, target: str) -> list[list[Prompt]]:
        """As `apportion.environments.rollout_preview.PredictedRequests.prompts`."""
        players = self.players(target)
        return [
            [prompt for move in moves for prompt in prompts_of(players[move.agent], self._after[number], move.agent)]
            for number, moves in enumerate(self.steps)
        ]

    def judged(self) -> list[Prompt]:
        """As `apportion.environments.rollout_preview.PredictedRequests.judged`."""
        return list(self.judge.prompts(self._after[-1])) if isinstance(self.judge, AsksForVerdicts) else []

    def _ending(self, environment: Environment, target: str, acts: int, dropped: int) -> TerminalState:
        verdict = self.judge.verdict(environment)
        return TerminalState(dict(verdict.scores[target]), acts, dropped, verdict.problem, environment.scales())

    @cached_property
    def _after(self) -> list[Environment]:
        """By number of steps, the environment then; never played on itself, only its clones are."""
        try:
            now = self.begun.clone()
        except (NotImplementedError, TypeError, AttributeError) as error:
            raise UnitError(
                f"session {self.session_id}: {self.begun.kind} cannot be copied (clone(): {error}), so that nothing of "
                "it can be played on"
            ) from None
        reached = [now.clone()]
        for moves in self.steps:
            now.step(dict(moves))
            reached.append(now.clone())
        return reached
