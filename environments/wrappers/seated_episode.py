"""An episode of which some seats are played from outside, by words or acts, and each other one by an agent.

Every door (`aec`, `tool_episode`, ...) is this with somebody's protocol around it, so that illegal acts are punished
alike whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, takewhile
from random import Random
from typing import Any

from apportion.environments.actions import MOST_UNUSABLE, TIMED_OUT, UNUSABLE, unusable_of
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import ATTEMPTS, read_act
from apportion.environments.collect_episodes import MOST_STEPS
from apportion.environments.environment import Action, Environment, Observation
from apportion.environments.registry import format_of
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply

MOST_DRAWS = 50
"""How often an episode is drawn anew in which a seat is never asked, as somebody's who dies in the first night."""
Given = Action | Mapping[str, Any] | str
"""An act from outside: itself; its ``kind``, ``text`` and, where it has any, ``data``; or words alone, which are read
as in a corpus, or as the JSON of a language model."""
Outcome = Mapping[str, float | None]
Reward = Callable[[Outcome], float | None]
"""From an agent's outcome, by dimension, to its reward; None is not known."""


def read_given(view: Observation, given: Given) -> Action:
    """The act that is meant, if the rules allow it now; raises ReplyMistakeError that says why it is none."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        act = read_act(ChatReply(given, "outside"), view, format_of(view.kind))
    elif isinstance(given, str):
        act = view.meant(" ".join(given.split()))
    else:
        fields = given._asdict() if isinstance(given, Action) else given
        if (
            not isinstance(fields, Mapping)
            or not {"kind", "text"} <= fields.keys() <= {"kind", "text", "data"}
            or not (isinstance(fields["kind"], str) and isinstance(fields["text"], str))
        ):
            raise ReplyMistakeError(
                f'an act is {{"kind": ..., "text": ...}}, both texts, perhaps with "data", not {given!r:.200}'
            )
        kind, text, data = fields["kind"], fields["text"], fields.get("data")
        act = view.in_words(kind, text) if data is None and given is fields else Action(kind, text, data)
    if act.stands:
        raise ReplyMistakeError(f"an act has no data with {UNUSABLE!r} or {TIMED_OUT!r}: those mark what is no act")
    problem = view.problem(act)
    if problem is not None:
        raise ReplyMistakeError(problem)
    return act


def stand_in(view: Observation, problem: str) -> Action:
    """What is done in place of what is no act, with the problem as data; raises UnitError where nothing can."""
    instead = view.stand_in(UNUSABLE, problem)
    if instead is None:
        raise UnitError(f"{view.agent!r} did what is no act ({problem}), and nothing can stand for it")
    return instead


class SeatedEpisode:
    """Episodes of some tasks, one after the other; `begin` each.

    ``environments``: What is played, by number; each episode plays a clone. ``others``: Who has the seats that are not
    played from outside; of several, each seat's is drawn. ``reward``: The dimension of the outcome that is the reward,
    or what makes it of them. ``attempts``: How often an agent may try one act before `Environment.stand_in` stands for
    it. ``most_unusable``: The share of a seat's acts that may be such: with more its own outcome is the least there is,
    and nobody else's is known. Raises InputError: Nothing to play, or an environment without such a dimension.
    """

    def __init__(
        self,
        environments: Sequence[Environment],
        others: Sequence[Agent],
        reward: str | Reward,
        *,
        attempts: int = ATTEMPTS,
        most_unusable: float = MOST_UNUSABLE,
    ) -> None:
        if not environments:
            raise InputError("no environment to play; give one at least")
        for one in environments:
            if isinstance(reward, str) and reward not in one.scales():
                there = ", ".join(one.scales()) or "none"
                raise InputError(f"{one.kind}: no dimension {reward!r} to reward; there are {there}")
        self.environments, self._others = tuple(environments), tuple(others)
        self._reward = reward if callable(reward) else lambda outcome: outcome[reward]
        self._attempts, self._most_unusable, self._failed = attempts, most_unusable, 0
        self._set(self.environments[0].clone(), ())

    def begin(self, task: int = 0, seats: Sequence[int] = (0,), seed: int | str = 0) -> None:
        """Play a task to where somebody outside is asked; ``seats``: those from outside, by number from 0.

        Raises InputError: no such task or seat, none, one twice, or nobody has another one. Raises UnitError: none of
        the seats is ever asked.
        """
        if not 0 <= task < len(self.environments):
            raise InputError(f"task {task}: there are {len(self.environments)}, from 0")
        game = self.environments[task].clone()
        for seat in seats:
            if not 0 <= seat < len(game.agents):
                raise InputError(f"seat {seat}: there are {len(game.agents)}, from 0")
        own = tuple(game.agents[seat] for seat in dict.fromkeys(seats))
        if not own or len(own) < len(seats):
            raise InputError(f"seats {list(seats)}: name one at least, and each once")
        if len(own) < len(game.agents) and not self._others:
            raise InputError(f"{game.kind}: nobody plays {', '.join(set(game.agents) - {*own})}; give others")
        for _ in range(MOST_DRAWS):
            game.reset(seed)
            self._set(game, own)
            self._play_on()
            if not game.over:
                return
            seed = f"{seed}+"
        raise UnitError(f"{game.kind}: over before {' or '.join(own)} was asked; play another task or seat")

    @property
    def asked(self) -> str | None:
        """Whose act is waited for; None: it is over. Who acts at once is asked one after the other."""
        return next((name for name in self.game.acting() if name in self.own and name not in self._chosen), None)

    @property
    def view(self) -> Observation:
        """What the asked agent may know. Raises InputError: nobody is asked."""
        if self.asked is None:
            raise InputError(f"{self.game.kind}: nobody is asked any more: it is over; begin anew")
        return Observation(self.game, self.asked)

    @property
    def instructions(self) -> str:
        """What a language model is told before it plays: what it is for, and how an act is written as JSON."""
        form = format_of(self.game.kind)
        return form.prompts.messages(form.styles[0], {"situation": "", "legal": ""})[0].content

    def act(self, given: Given) -> str | None:
        """Let the asked agent act, and play on to where somebody is asked; why it was no act, and what was done then.

        Raises InputError: it is over. Raises UnitError: the episode cannot go on.
        """
        view, told = self.view, None
        agent = view.agent
        self._before[agent].append(self._value(agent, self.game.outcome()[agent]))
        try:
            act = read_given(view, given)
        except ReplyMistakeError as mistake:
            self._failed += 1
            told = f"Not allowed: {mistake}. Nothing was done."
            if self._failed < self._attempts:
                return told
            act = stand_in(view, str(mistake))
            told = f"Not allowed: {mistake}. After {self._failed} attempts {act.kind!r} stands for it."
        self._failed = 0
        self._chosen[agent] = act
        if self.asked is None:
            self._step()
        self._play_on()
        return told

    def news(self, agent: str) -> str:
        """The lines of an agent's observation from the first one on that was not there when it was last told."""
        known, lines = self._told.get(agent, []), self.game.observe(agent).split("\n")
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(known, lines, strict=False)))
        self._told[agent] = lines
        return "\n".join(lines[same:])

    def outcome(self, agent: str) -> dict[str, float | None]:
        """By dimension what an agent has come to; the least that there is for who plays by no rules.

        Before the end what is not known yet is the least, too, so that nobody gains by not going on.
        """
        known, scales = self.game.outcome()[agent], self.game.scales()
        least = {name: scales.get(name, (0.0, 0.0))[0] for name in known}
        none = self.unusable()
        if agent in none:
            return {**least}
        if none:
            return dict.fromkeys(known)
        return {name: least[name] if value is None and not self.game.over else value for name, value in known.items()}

    def unusable(self) -> set[str]:
        """Who plays by no rules: those with a larger share of unusable acts than ``most_unusable``."""
        acts = unusable_of(self.game.steps)
        return {name for name, (stand, count) in acts.items() if stand > self._most_unusable * count}

    def reward(self, agent: str) -> float | None:
        """Of the outcome as it stands; None is not known."""
        return self._reward(self.outcome(agent))

    def credit(self, agent: str) -> list[float | None]:
        """For each of the agent's calls of `act`, how much the reward as it stands rose until it was asked again.

        Together they are the reward less what it was at the beginning. Ask at the end: it may tell what is hidden.
        """
        values = [*self._before[agent], self.reward(agent)]
        return [None if before is None or after is None else after - before for before, after in pairwise(values)]

    def ending(self, agent: str) -> dict[str, Any]:
        """What a door tells of an agent at the end, as JSON: ``reward``, ``outcome`` and ``credit``."""
        return {"reward": self.reward(agent), "outcome": self.outcome(agent), "credit": self.credit(agent)}

    def _value(self, agent: str, known: Outcome) -> float | None:
        scales = self.game.scales()
        return self._reward({name: scales.get(name, (0.0,))[0] if v is None else v for name, v in known.items()})

    def _set(self, game: Environment, own: tuple[str, ...]) -> None:
        self.game, self.own = game, own
        self._failed = 0
        self._chosen: dict[str, Action] = {}
        self._told: dict[str, list[str]] = {}
        self._before: dict[str, list[float | None]] = {name: [] for name in own}

    def _play_on(self) -> None:
        while not self.game.over and not {*self.own} & {*self.game.acting()}:
            if len(self.game.steps) >= MOST_STEPS:
                raise UnitError(
                    f"{self.game.kind}: {' or '.join(map(repr, self.own))} is not asked in {MOST_STEPS} steps"
                )
            self._step()

    def _step(self) -> None:
        others = [name for name in self.game.acting() if name not in self.own]
        acts = {name: self._sitting(name).act(Observation(self.game, name)) for name in others}
        self.game.step({**acts, **self._chosen})
        self._chosen = {}

    def _sitting(self, name: str) -> Agent:
        many = len(self._others)
        return self._others[Random(f"{self.game.seed}/{name}/sits").randrange(many) if many > 1 else 0]
