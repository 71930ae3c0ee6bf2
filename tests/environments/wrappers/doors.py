"""Every door as a test plays through it: one seat from outside, told texts, acts; and what is played through them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any, Protocol
from unittest.mock import patch

from apportion.environments.agents.agent import Agent, ScriptedAgent
from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import Options
from apportion.environments.environment import Action, Environment, Observation
from apportion.environments.negotiation.bargaining.game import Bargaining
from apportion.environments.negotiation.bargaining.scenario import Bargain
from apportion.environments.negotiation.casino.contexts import CONTEXTS
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.registry import format_of
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.wrappers.seated_episode import SeatedEpisode

REWARDS = {"sotopia": "GOAL", "negotiation": "points", "bargaining": "points", "casino": "points"}


def _blind(view: Observation) -> Action:
    act = view.stand_in("unusable", "").plain
    return act._replace(data=200) if act.kind == "offer" else act  # What stands for an offer tells a limit.


BLIND = ScriptedAgent("blind", _blind)
"""Acts by nothing that it alone knows."""


def drawn_act(game: Environment, agent: str, draws: Random) -> dict[str, str]:
    """Any kind of act that is legal, in words that the rules read."""
    kind = draws.choice(game.legal(agent))
    return {"kind": kind, "text": draws.choice([*game.examples(agent).get(kind, ("Hello.",))])}


DRAWN = ScriptedAgent(
    "drawn", lambda view: view.in_words(**drawn_act(view._environment, view.agent, Random(f"{view.number}")))
)
"""Does anything that it may."""


def words_of(game: Environment, agent: str, act: Mapping[str, str]) -> str:
    """The same as the JSON of a language model, for doors through which nothing but words goes."""
    meant = game.in_words(agent, act["kind"], act["text"])
    view = SeatedEpisode([game], (), lambda outcome: 0.0)
    view.game, view.own = game, (agent,)
    try:
        fields = format_of(game.kind).record(meant, view.view)
    except (KeyError, TypeError, ValueError):
        fields = {}
    return json.dumps({"act": meant.kind, **fields, "text": meant.text})


@cache
def twins(world: str) -> tuple[Environment, Environment]:
    """Two tasks of a world that differ by what their first seat may not know."""
    if world == "sotopia":
        task = bundled_tasks.tasks()[0]
        other = replace(task.characters[1], secret="CANARY", secret_words=("canary",))
        scenario = replace(task.scenario, goals=(task.scenario.goals[0], "CANARY"))
        return Sotopia(task), Sotopia(replace(task, characters=(task.characters[0], other), scenario=scenario))
    if world == "negotiation":
        return tuple(Negotiation(Context((1, 3, 1), ((3, 1, 4), other))) for other in ((3, 2, 1), (1, 3, 0)))
    if world == "bargaining":
        return Bargaining(Bargain("a tent", 300, 250, 77)), Bargaining(Bargain("a tent", 300, 250, 111))
    if world == "casino":
        pairs = [(a, b) for a in CONTEXTS for b in CONTEXTS if a != b and a.values[0] == b.values[0]]
        return Casino(pairs[0][0]), Casino(pairs[0][1])
    make, deals = {
        "werewolf": (
            lambda deal: Werewolf(Options(most_days=2), deal),
            "villager werewolf seer villager guardian werewolf villager/"
            "villager werewolf guardian villager seer werewolf villager",
        ),
        "avalon": (
            lambda deal: Avalon(deal=deal),
            "servant merlin minion servant assassin/servant servant minion merlin assassin",
        ),
        "onuw": (
            lambda deal: OneNight(deal=deal),
            "villager seer werewolf robber insomniac villager troublemaker/"
            "villager robber werewolf seer insomniac villager troublemaker",
        ),
    }[world]
    first, second = (make(tuple(deal.split())) for deal in deals.split("/"))
    return first, second


class Door(Protocol):
    """A door, opened on tasks of one world with agents in the other seats."""

    def begin(self, task: int, seat: int, seed: int) -> str:
        """Begin; what is told."""

    def draw(self, draws: Random) -> Mapping[str, str]:
        """Any act that the seat may do now."""

    def act(self, act: Mapping[str, str]) -> str:
        """Act for the seat; what is told."""

    @property
    def episode(self) -> SeatedEpisode:
        """What is behind it."""

    @property
    def paid(self) -> float | None:
        """What the door says at the end that the seat has earned."""


@dataclass
class Tool:
    """TRL's."""

    tasks: Sequence[Environment]
    other: Agent
    reward: str

    def __post_init__(self) -> None:
        from apportion.environments.wrappers.tool_episode import ToolEpisode

        self.tool = ToolEpisode(self.tasks, self.other, self.reward)

    def begin(self, task: int, seat: int, seed: int) -> str:
        return self.tool.reset(task, seat, seed)

    def draw(self, draws: Random) -> Mapping[str, str]:
        return drawn_act(self.episode.game, self.episode.own[0], draws)

    def act(self, act: Mapping[str, str]) -> str:
        return self.tool.act(**act)

    @property
    def episode(self) -> SeatedEpisode:
        return self.tool._episode

    @property
    def paid(self) -> float | None:
        return self.tool.get_reward()


@dataclass
class Single:
    """Gymnasium's."""

    tasks: Sequence[Environment]
    other: Agent
    reward: str
    paid: float = 0.0

    def __post_init__(self) -> None:
        from apportion.environments.wrappers.single_player import SinglePlayer

        self.env = SinglePlayer(SeatedEpisode(self.tasks, (self.other,), self.reward))

    def begin(self, task: int, seat: int, seed: int) -> str:
        self.paid = 0.0
        return self._told(self.env.reset(seed=seed, options={"task": task, "seat": seat}))

    def draw(self, draws: Random) -> Mapping[str, str]:
        self.env.action_space.seed(draws.randrange(2**31))
        return self.env.action_space.sample(self.seen["action_mask"])

    def act(self, act: Mapping[str, str]) -> str:
        told = self.env.step(act)
        self.paid += told[1]
        return self._told(told)

    def _told(self, told: tuple[Any, ...]) -> str:
        self.seen = told[0]
        return repr(told)

    @property
    def episode(self) -> SeatedEpisode:
        return self.env.episode


@dataclass
class Cycle:
    """PettingZoo's: the test plays the other seats, too."""

    tasks: Sequence[Environment]
    other: Agent
    reward: str
    paid: float = 0.0

    def begin(self, task: int, seat: int, seed: int) -> str:
        from apportion.environments.wrappers.aec import AEC

        self.env = AEC(self.tasks[task], self.reward)
        self.own, self.paid = self.env.possible_agents[seat], 0.0
        self.env.reset(seed=seed)
        return self._told()

    def draw(self, draws: Random) -> Mapping[str, str]:
        space = self.env.action_space(self.own)
        space.seed(draws.randrange(2**31))
        return space.sample(self.env.observe(self.own)["action_mask"])

    def act(self, act: Mapping[str, str]) -> str:
        self.env.step(act)
        return self._told()

    def _told(self) -> str:
        while self.episode.asked not in (self.own, None):
            self.env.step(self.other.act(self.episode.view))
        self.paid = self.env.rewards[self.own]
        return repr((self.env.observe(self.own), self.env.infos[self.own]))

    @property
    def episode(self) -> SeatedEpisode:
        return self.env._episode


@dataclass
class Server:
    """OpenEnv's, without the server around it."""

    tasks: Sequence[Environment]
    other: Agent
    reward: str
    paid: float | None = None

    def begin(self, task: int, seat: int, seed: int) -> str:
        from apportion.environments.wrappers import openenv
        from apportion.environments.wrappers.world_tasks import WorldTasks, world_tasks

        kind = self.tasks[0].kind
        here = WorldTasks(tuple(self.tasks), world_tasks(kind).roster, self.reward)
        self.env = openenv.WorldsEnvironment({kind: {"other": self.other}})
        with patch.object(openenv, "world_tasks", lambda world: here):
            return self._told(self.env.reset(seed=seed, task=task, seats=[seat]))

    def draw(self, draws: Random) -> Mapping[str, str]:
        return drawn_act(self.episode.game, self.episode.own[0], draws)

    def act(self, act: Mapping[str, str]) -> str:
        from apportion.environments.wrappers.openenv import WorldAction

        return self._told(self.env.step(WorldAction(**act)))

    def _told(self, observation: Any) -> str:
        self.paid = observation.reward
        return observation.model_dump_json() + self.env.state.model_dump_json()

    @property
    def episode(self) -> SeatedEpisode:
        return self.env.episode


@dataclass
class Arena:
    """TextArena's: nothing but words, and the test plays the other seats, too."""

    tasks: Sequence[Environment]
    other: Agent
    reward: str

    def begin(self, task: int, seat: int, seed: int) -> str:
        from apportion.environments.wrappers.textarena import WorldGame

        self.env = WorldGame(self.tasks[0].kind, task=task)
        self.env._episode = SeatedEpisode(self.tasks, (), self.reward)
        self.env.reset(len(self.tasks[task].agents), seed)
        self.own, self.seen = seat, []
        return self._told()

    def draw(self, draws: Random) -> Mapping[str, str]:
        return drawn_act(self.episode.game, self.episode.own[self.own], draws)

    def act(self, act: Mapping[str, str]) -> str:
        game = self.episode.game
        self.env.step(words_of(game, game.agents[self.own], act))
        return self._told()

    def _told(self) -> str:
        while not self.env.state.done:
            player, told = self.env.get_observation()
            if player == self.own:
                self.seen += told
                break
            self.episode.act(self.other.act(self.episode.view))
            self.env._tell()
        return repr(self.seen)

    @property
    def episode(self) -> SeatedEpisode:
        return self.env._episode

    @property
    def paid(self) -> float | None:
        return (self.env.close()[0] or {}).get(self.own)


DOORS: dict[str, Any] = {"tool": Tool, "gymnasium": Single, "pettingzoo": Cycle, "openenv": Server, "textarena": Arena}


@dataclass
class Played:
    """One episode: what was told before its end, and what came of it."""

    told: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    paid: float | None = None
    reward: float | None = None

    @property
    def done(self) -> Counter[str]:
        return Counter(self.acts)


def play(door: Door, seed: int, rubbish: float = 0.0, task: int = 0, seat: int = 0, most: int = 10_000) -> Played:
    """An episode in which the seat does anything, a share of ``rubbish`` among it."""
    played, draws = Played([door.begin(task, seat, seed)]), Random(seed)
    episode = door.episode
    own = episode.game.agents[seat]
    while (episode := door.episode).asked is not None and len(played.acts) < most:
        act = door.draw(draws)
        if draws.random() < rubbish:
            act = {"kind": "fly", "text": "to the moon"}
        told = door.act(act)
        played.acts.append(act["kind"])
        if door.episode.asked is not None:
            played.told.append(told)
    return replace(played, steps=list(door.episode.game.steps), paid=door.paid, reward=door.episode.reward(own))


def opened(name: str, world: str, other: Agent = DRAWN, tasks: Sequence[Environment] = ()) -> Door:
    """A door on a world."""
    made: Door = DOORS[name](tasks or twins(world)[:1], other, REWARDS.get(world, "win"))
    return made


__all__ = ["BLIND", "DOORS", "DRAWN", "REWARDS", "Action", "Door", "Played", "opened", "play", "twins", "words_of"]
