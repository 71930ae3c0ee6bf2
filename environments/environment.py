"""The environment of every simulated dialogue: an N-agent Dec-POMDP without any dependency (SOTOPIA, Appendix C.1).

The state is the task and what was done so far; observations are text, made when somebody asks; the outcome is a vector
for every agent. Time is in steps; agents may act by turns or at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Self

from apportion.environments.actions import SILENT, Action, AgentAction, InvalidActionError, Step, in_order
from apportion.environments.rng import EpisodeRNG
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError


class Observation:
    """What one agent may know when it acts; made for one step.

    Nothing of it is computed before it is read: scripted agents seldom read ``text``.
    """

    __slots__ = ("_environment", "agent")

    def __init__(self, environment: Environment, agent: str) -> None:
        self._environment, self.agent = environment, agent

    @property
    def text(self) -> str:
        """The observation in words."""
        return self._environment.observe(self.agent)

    @property
    def facts(self) -> Any:
        """The observation as data, of the environment's own form; holds nothing that ``text`` would not."""
        return self._environment.facts(self.agent)

    @property
    def kind(self) -> str:
        """What the environment is called."""
        return self._environment.kind

    @property
    def cue(self) -> str:
        """What the agent has to be told now besides what is heard (`Environment.cue`)."""
        return self._environment.cue(self.agent)

    @property
    def known(self) -> tuple[tuple[bool, str, str], ...]:
        """What it knew before the first step: (whether it alone, kind, words)."""
        rows = self._environment.backgrounds()
        return tuple((name is not None, kind, text) for name, kind, text in rows if name in (None, self.agent))

    @property
    def heard(self) -> tuple[tuple[int, str], ...]:
        """What was said so far, as the corpus has it: (seat of the speaker, words); no names, which may be hidden.

        A speaker who sits nowhere (a moderator) has the number behind the last seat's.
        """
        seats = {name: seat for seat, name in enumerate(self._environment.agents)}
        heard = self._environment.utterances(self._environment.steps)
        return tuple((seats.get(name, len(seats)), text) for name, text in heard)

    @property
    def seat(self) -> int:
        """The agent's own place in the order of the seats, from 0."""
        return self._environment.agents.index(self.agent)

    def meant(self, text: str) -> Action:
        """The act that words are (`Environment.meant`)."""
        return self._environment.meant(self.agent, text)

    def in_words(self, kind: str, text: str) -> Action:
        """The act that a kind and words alone are (`Environment.in_words`)."""
        return self._environment.in_words(self.agent, kind, text)

    @property
    def legal(self) -> tuple[str, ...]:
        """Kinds of acts that are allowed."""
        return self._environment.legal(self.agent)

    def stand_in(self, why: str, told: Any) -> Action | None:
        """The act that stands for one that is none (`Environment.stand_in`), with why as data; None: nothing can."""
        act = self._environment.stand_in(self.agent)
        return None if act is None else act.marked(why, told)

    @property
    def speeches(self) -> frozenset[str]:
        """Kinds of acts whose words are talk (`Environment.speeches`)."""
        return self._environment.speeches

    @property
    def step(self) -> int:
        """Steps played so far, as far as the agent may know (`Environment.moment`)."""
        return self._environment.moment(self.agent)

    @property
    def place(self) -> int:
        """Steps played so far, for an agent that does again what a log holds, and decides nothing."""
        return len(self._environment.steps)

    @property
    def draws(self) -> Random:
        """The agent's own random numbers of this step: the same in every replay and every copy."""
        return Random(f"{self._environment.seed}/{self.agent}/{self.step}")

    @property
    def number(self) -> int:
        """A number of this step of this episode alone (its seed), from 0 to 2^31 - 1: the index of a sampled reply."""
        return self.draws.getrandbits(31)

    def problem(self, act: Action) -> str | None:
        """Why an act is not allowed now, in words; None: it is."""
        try:
            self._environment.check(self.agent, act)
        except InvalidActionError as error:
            return str(error)
        return None


class Environment(ABC):
    """One task that agents play.

    ``agents``: Their names, in the order of the seats; two at least, each once. Raises InputError: Fewer than two
    agents, an empty name, or one name twice.
    """

    kind: ClassVar[str]
    """What it is called, as in ``apportion world simulate KIND``."""
    unheard_acts_stay: ClassVar[bool] = True
    """Whether acts that nobody hears are kept in a history of which heard ones are left out; else they are done anew.

    Acts of chance or of a moderator stay; choices that follow from what was said do not.
    """
    speeches: ClassVar[frozenset[str]] = frozenset({"speak"})
    """Kinds of acts whose words are talk: other words in their place change nothing that the rules read."""

    def __init__(self, agents: Iterable[str]) -> None:
        self.agents = tuple(agents)
        if len(self.agents) < 2:
            raise InputError(f"{self.kind}: {len(self.agents)} agents; a dialogue needs two at least")
        for name in self.agents:
            if not name.strip():
                raise InputError(f"{self.kind}: an agent without a name; every agent needs one of its own")
            if self.agents.count(name) > 1:
                raise InputError(f"{self.kind}: two agents are called {name!r}; give each a name of its own")
        self.reset(0)

    def reset(self, seed: int | str) -> None:
        """Begin anew; the same seed, agents and acts give the same episode."""
        self.seed = seed
        self.chance = EpisodeRNG(seed)
        self.steps: list[Step] = []
        self._begin()

    @property
    def over(self) -> bool:
        """Whether nobody may act any more."""
        return not self.acting()

    @abstractmethod
    def acting(self) -> tuple[str, ...]:
        """Who acts in this step, in the order of the seats; several act at once, nobody: it is over."""

    @property
    def most_steps(self) -> int | None:
        """Steps after which it is over whatever is done; None: the rules do not say."""
        return None

    @property
    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """Every kind of act that there is, whoever does it and whenever."""

    @abstractmethod
    def legal(self, agent: str) -> tuple[str, ...]:
        """The kinds of acts that ``agent`` may do now; empty when it is not its turn."""

    @abstractmethod
    def observe(self, agent: str) -> str:
        """What ``agent`` knows now, in words; nothing in it depends on what is hidden from it."""

    def cue(self, agent: str) -> str:
        """What somebody who reads the dialogue alone has to be told before it acts: what it learned, what it may do.

        Nothing that `observe` would not tell; empty where the dialogue says it all.
        """
        return ""

    def facts(self, agent: str) -> Any:
        """What ``agent`` knows now, as data, for scripted agents; nothing that `observe` would not tell."""
        return None

    def role(self, agent: str) -> str:
        """What tells what seats are for apart: the number of the seat, or the role that it was dealt."""
        return str(self.agents.index(agent) + 1)

    def moment(self, agent: str) -> int:
        """A number of this step for ``agent``, another one at each of its acts: how many steps were played.

        Rules that hide how many there were (a night in which fewer act than before) count what the agent knows of.
        """
        return len(self.steps)

    def allowed(self, acts: Mapping[str, Action]) -> Step:
        """The moves of one step, if the rules allow them; nothing is done.

        Raises InvalidActionError: somebody acts out of turn or not at all, or an act is not allowed.
        """
        moves = in_order(acts, self.acting())
        for agent, act in moves:
            self.check(agent, act)
        return moves

    def check(self, agent: str, act: Action) -> None:
        """Hold one agent's act to the rules, whatever others do. Raises InvalidActionError: it is not allowed now."""
        legal = self.legal(agent)
        if act.kind not in legal:
            hint = did_you_mean(act.kind, legal, f"allowed now: {', '.join(legal)}")
            raise InvalidActionError(f"step {self.moment(agent)}: {agent!r} may not {act.kind!r}; {hint}")
        self._check(agent, act.plain)

    def stand_in(self, agent: str) -> Action | None:
        """What is done where ``agent`` does nothing that can be used; None: the episode cannot go on.

        Silence, where that is allowed; rules without it name the act that gains its agent the least, since what is no
        play must not win.
        """
        return Action(SILENT) if SILENT in self.legal(agent) else None

    def in_words(self, agent: str, kind: str, text: str) -> Action:
        """The act that a kind and words alone are, for callers that give no data: tools, spaces of actions.

        Where an act needs data, rules that can read it from the words say so here; others leave it to `check`.
        """
        return Action(kind, text)

    def examples(self, agent: str) -> Mapping[str, Sequence[str]]:
        """By kind of act, words by which ``agent`` may do it now (`in_words`), for acts that are drawn.

        A kind that is not named takes any words; all that `legal` names and the rules read are named.
        """
        return {}

    def advance(self, moves: Step) -> None:
        """Do moves that `allowed` has given for this very step."""
        self._apply(tuple(AgentAction(agent, act.plain) for agent, act in moves))
        self.steps.append(moves)

    def step(self, acts: Mapping[str, Action]) -> None:
        """Do what every agent whose turn it is does. Raises InvalidActionError as `allowed`; nothing was done then."""
        self.advance(self.allowed(acts))

    def do(self, act: Action) -> None:
        """`step` for the one agent whose turn it is."""
        self.step(dict.fromkeys(self.acting()[:1], act))

    @abstractmethod
    def outcome(self) -> dict[str, dict[str, float | None]]:
        """By agent and dimension what it has come to; None is not known (by these rules)."""

    def scales(self) -> dict[str, tuple[float, float]]:
        """By dimension of `outcome` the lowest and the highest value."""
        return {}

    def said(self, move: AgentAction) -> str | None:
        """The utterance that a move is in the corpus; None: it is none (an act that nobody hears)."""
        return move.act.text or None

    def turns(self, steps: Iterable[Step]) -> list[tuple[int, str, str]]:
        """The utterances of an episode in their order: (number of the step, speaker, words).

        Acts that nobody hears are none. Rules may say something themselves, by a speaker who sits in no seat.
        """
        return [
            (number, move.agent, text)
            for number, moves in enumerate(steps)
            for move in moves
            if (text := self.said(move)) is not None
        ]

    def utterances(self, steps: Iterable[Step]) -> list[tuple[str, str]]:
        """The same without the steps: (speaker, words)."""
        return [(speaker, text) for _, speaker, text in self.turns(steps)]

    def instead(self, moves: Step) -> Step | None:
        """What is done in place of moves that are left out of a history; None: nothing, and it goes on without them.

        Rules in which everybody has a turn of their own need something in its place.
        """
        return None

    def counted(self) -> dict[str, int]:
        """What a person has to know of how it was played, each with how often."""
        return {}

    def meant(self, agent: str, text: str) -> Action:
        """The act that an utterance of `said` is: how somebody acts who only speaks. It may be one that is not allowed.

        Words without a kind of their own are an act of the first kind that is allowed.
        """
        return Action(next(iter(self.legal(agent)), ""), text)

    def backgrounds(self) -> list[tuple[str | None, str, str]]:
        """What was known before the first step: (agent, None for what all know; kind; text), as the corpus' table."""
        return []

    def clone(self) -> Self:
        """A copy that plays on by itself, in a few microseconds."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.steps = self.steps.copy()
        copied.chance = self.chance.copy()
        copied._own()
        return copied

    def reseed(self, seed: int | str) -> None:
        """Draw by another seed from here on; what was drawn before stays as it is."""
        self.seed = seed
        self.chance = EpisodeRNG(seed)

    def replay(self, seed: int | str, steps: Iterable[Step]) -> None:
        """Begin anew and do again what a log holds.

        Raises InvalidActionError: the log holds an act that these rules do not allow at its place.
        """
        self.reset(seed)
        for moves in steps:
            self.step(dict(moves))

    def _begin(self) -> None:  # noqa: B027 - rules may keep nothing of their own
        """Set what the rules keep besides `steps`; chance is ready."""

    def _own(self) -> None:  # noqa: B027
        """Copy what `_apply` changes in place, so that a clone and its origin share nothing that changes."""

    def _check(self, agent: str, act: Action) -> None:  # noqa: B027
        """Raise `InvalidActionError` for an act of an allowed kind that is not allowed."""

    @abstractmethod
    def _apply(self, moves: Step) -> None:
        """Change what the rules keep; ``moves`` are allowed and are not in `steps` yet."""


__all__ = ["Action", "AgentAction", "Environment", "InvalidActionError", "Observation", "Step"]
