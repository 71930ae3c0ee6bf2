"""Candidates and who chooses among them: a small policy that league play on the exact rules has trained.

SLA (Xu et al., 2024) lets a language model think of several different acts and a trained policy choose one; the RL-ins
of Jin et al. (2024) chooses which of their six tactics a speech follows. Both are one softmax here, whose score of a
candidate is the sum of the weights of its features, trained by REINFORCE with the mean of each team's returns as
baseline. Scripts think of the candidates in a language model's place; ``NAME+sla`` asks agent NAME for them, and
``llm-ins+rl-ins`` lets the model speak by the tactic that the policy has chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from pkgutil import resolve_name
from random import Random
from statistics import fmean
from typing import Any

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.agents.wrappers import Wrapper
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.base_game import WIN, Deduction
from apportion.environments.deduction.learned_table import LearnedTable, cast_of
from apportion.environments.environment import Action, Observation
from apportion.foundation.errors import InputError
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings

CANDIDATES = 4
"""How often a language model is asked for one act."""
RATE, BATCH = 2.0, 20
"""Learning rate, and games for one step."""
Candidates = Mapping[str, Action]
"""By name acts that may be done."""


class Redrawn(Observation):
    """The same view with other draws: a model samples another reply, a script breaks ties otherwise."""

    __slots__ = ("_again",)

    def __init__(self, view: Observation, again: int) -> None:
        super().__init__(view._environment, view.agent)
        self._again = again

    @property
    def draws(self) -> Random:
        """Of a number of their own, but the first, which are the view's."""
        draws = super().draws
        return Random(f"{draws.random()}/{self._again}") if self._again else draws


@dataclass(frozen=True)
class Mind:
    """What a game brings: what may be thought of, and what a candidate is.

    ``candidates``: Of a view; one alone is done. ``features``: Of a candidate (its name and the act), what the policy
    weighs; nothing that the view would not tell.
    """

    candidates: Callable[[Observation], Candidates]
    features: Callable[[str, Action, Observation], Sequence[str]]


@dataclass
class Choosing:
    """Does what a softmax over its candidates' weights draws; ``best``: the most probable candidate.

    ``picks``: Where it learns, by each choice the features of all candidates, the chances, and which was chosen.
    """

    called: str
    mind: Mind
    table: LearnedTable
    best: bool = True
    proposer: Agent | None = None
    picks: list[tuple[list[Sequence[str]], list[float], int]] | None = None

    @property
    def paid(self) -> bool:
        """Whether a language model thinks of the candidates."""
        return self.proposer is not None and self.proposer.paid

    def __getattr__(self, name: str) -> Any:
        if name not in ("request", "tokens_an_act", "requests_an_act"):
            raise AttributeError(name)
        of = getattr(self.proposer, name)  # What it asks a model, for whoever counts requests.
        return CANDIDATES * of if name == "requests_an_act" else of

    def act(self, view: Observation) -> Action:
        """The candidate that the policy chooses. Raises InputError: it was trained in another game, or cast."""
        self.table.check(view)
        if self.proposer is None:
            thought = self.mind.candidates(view)
        else:
            acts = [self.proposer.act(Redrawn(view, again)) for again in range(CANDIDATES if self.many(view) else 1)]
            thought = {repr(act): act for act in acts}
        return thought[self.chosen(thought, view)]

    def many(self, view: Observation) -> bool:
        """Whether several candidates are thought of."""
        return True

    def chooses(self, view: Observation, names: Sequence[str]) -> str:
        """One of some names, for a model that then acts by it. Raises InputError as `act`."""
        self.table.check(view)
        return self.chosen(dict.fromkeys(names, Action("")), view)

    def chosen(self, thought: Candidates, view: Observation) -> str:
        """The name of one of the candidates."""
        names = list(thought)
        if len(names) == 1:
            return names[0]
        told = [self.mind.features(name, thought[name], view) for name in names]
        scores = [sum(self.table.rows.get(one, (0.0,))[0] for one in features) for features in told]
        odds = [exp(score - max(scores)) for score in scores]
        chances = [one / sum(odds) for one in odds]
        draws = Random(view.draws.random())
        at = chances.index(max(chances)) if self.best else draws.choices(range(len(names)), chances)[0]
        if self.picks is not None:
            self.picks.append((told, chances, at))
        return names[at]


def train(
    method: str, mind: Mind, games: Sequence[Deduction], rivals: Sequence[Agent], told: Callable[[int, float], None]
) -> LearnedTable:
    """The weights after league play: the learner holds one team whole, a rival or the learner itself the other.

    ``games``: Of one game and cast, each begun. ``rivals``: Drawn with the same chance each, the learner among them.
    ``told``: Games so far, and the mean return of the last `BATCH`.
    """
    weights: dict[str, tuple[float]] = {}
    table = LearnedTable(method, games[0].kind, cast_of(games[0].rules), weights)
    learner = Choosing(method, mind, table, best=False)
    itself = replace(learner)  # One policy; of its own games it learns one side at a time.
    draws, means = Random(f"{games[0].seed}/league"), defaultdict[str, float](lambda: 0.5)
    steps, returns = defaultdict[str, float](float), list[float]()
    for number, game in enumerate(games, 1):
        team, rival = draws.choice(sorted({game.teams[role] for role in game.deal})), draws.choice([*rivals, itself])
        mine = {name: game.teams[game.role(name)] == team for name in game.agents}
        learner.picks = []
        play(game, {name: learner if own else rival for name, own in mine.items()})
        ends = [end[WIN] or 0.0 for name, end in game.outcome().items() if mine[name]]
        returns.append(sum(ends) / max(len(ends), 1))
        gain = returns[-1] - means[team]
        means[team] += 0.02 * gain
        for features, chances, at in learner.picks:
            for place, (named, chance) in enumerate(zip(features, chances, strict=True)):
                for one in named:
                    steps[one] += gain * ((place == at) - chance)
        if number % BATCH == 0 or number == len(games):
            for one, step in steps.items():
                weights[one] = (weights.get(one, (0.0,))[0] + RATE * step / BATCH,)
            steps.clear()
            told(number, fmean(returns[-BATCH:]))
    return replace(table, rows={name: (round(weight, 4),) for name, (weight,) in sorted(weights.items())})


MINDS = {
    ("sla", "werewolf"): "apportion.environments.deduction.werewolf.moves:MIND",
    ("lspo", "werewolf"): "apportion.environments.deduction.werewolf.moves:LATENT",
    ("rl-ins", "onuw"): "apportion.environments.deduction.onuw.tactics:MIND",
}
"""By method and game what it thinks of."""


def mind_of(method: str, game: str) -> Mind:
    """What a method thinks of in a game. Raises InputError: it is not played there."""
    place = MINDS.get((method, game))
    if place is None:
        known = ", ".join(f"{one} in {where}" for one, where in MINDS)
        raise InputError(f"{method!r} is not played in {game!r}; there are {known}")
    found: Mind = resolve_name(place)
    return found


@dataclass(frozen=True)
class Chooser(Wrapper):
    """What a method means in a name: ``sla@FILE`` of scripts, ``NAME+sla@FILE`` around another agent.

    ``made``: The class of its agents. ``example``: How one is written, for errors.
    """

    method: str
    example: str
    made: type[Choosing] = Choosing

    def of(self, place: str) -> Choosing:
        """The agent of a file. Raises InputError: none is named; as `LearnedTable.read` and `mind_of`."""
        if not place:
            example = self.example
            raise InputError(f"{self.method!r} needs a trained file behind an @, as {example} or NAME+{example}")
        table = LearnedTable.read(place, self.method)
        return self.made(f"{self.method}@{place}", mind_of(self.method, table.game), table)

    def check(self, of: str) -> None:
        """Raise InputError where ``of`` is no file of this method."""
        self.of(of)

    def around(self, agent: Agent, of: str, called: str, asked: LLMSettings | None, complete: Complete | None) -> Agent:
        """The agent, its tactic chosen by the policy where it is a model that chooses one, else its acts."""
        policy = replace(self.of(of), called=called)
        if self.method != "rl-ins":
            return replace(policy, proposer=agent)
        if not isinstance(agent, LanguageModelAgent) or not any(one.note and one.note.choices for one in agent.asked):
            raise InputError(f"agent {called!r}: {agent.called!r} chooses no tactic; write llm-ins+{self.method}@FILE")
        return replace(agent, called=called, chooses=policy.chooses)


SLA, RL_INS = Chooser("sla", "sla@FILE"), Chooser("rl-ins", "rl-ins@FILE")
