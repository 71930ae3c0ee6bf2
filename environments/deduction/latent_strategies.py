"""LSPO (Xu et al., 2025): speeches are clustered to latent strategies, and regret minimisation chooses among these.

A speech is embedded as a hashed bag of its words without numbers (theirs is a language model's embedding), k-means
finds the clusters, and external-sampling CFR (Lanctot et al., 2009) plays on the exact rules: the one who learns tries
every cluster at each of its speeches, others draw theirs by their own strategies, whatever is no speech a script does.
What is learned is the average strategy, by situation. Around a language model it speaks the sampled reply whose cluster
is drawn; `align.reward = "lspo"` prefers such replies in training.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random

import numpy as np

from apportion.environments.agents.agent import Agent
from apportion.environments.deduction.base_game import WIN, Deduction
from apportion.environments.deduction.chooser import Candidates, Chooser, Choosing, Mind
from apportion.environments.deduction.events import SPEAK
from apportion.environments.deduction.learned_table import LearnedTable, cast_of
from apportion.environments.environment import Action, Observation
from apportion.foundation.arrays import Floats

CLUSTERS, DIMENSIONS = 6, 64
_WORD = re.compile(r"[^\W\d_]+")


def embedded(text: str) -> Floats:
    """A speech as the normed counts of its words, by hash [shape=(DIMENSIONS,)]; numbers of players are left out."""
    counts = np.zeros(DIMENSIONS)
    for word in _WORD.findall(text.casefold()):
        counts[int.from_bytes(blake2b(word.encode(), digest_size=4).digest()) % DIMENSIONS] += 1
    normed: Floats = counts / max(float(np.linalg.norm(counts)), 1e-9)
    return normed


def clustered(texts: Sequence[str], clusters: int, seed: int) -> Floats:
    """The centres of so many clusters of speeches by k-means, fewer where fewer differ [shape=(K, dimensions)]."""
    from scipy.cluster.vq import kmeans2

    points = np.unique(np.array([embedded(text) for text in texts]).round(9), axis=0)
    centres: Floats = kmeans2(points, min(clusters, len(points)), iter=50, minit="++", seed=seed)[0]
    return centres


def by_cluster(thought: Candidates, centres: Floats) -> Mapping[int, str]:
    """Of some speeches the first of each cluster that they are of: by cluster its name."""
    far = np.linalg.norm(np.array([embedded(act.text) for act in thought.values()])[:, None] - centres, axis=2)
    found: dict[int, str] = {}
    for name, nearest in zip(thought, far.argmin(axis=1).tolist(), strict=True):
        found.setdefault(nearest, name)
    return found


def key_of(mind: Mind, view: Observation, options: Iterable[int]) -> str:
    """The situation of somebody who speaks, with the clusters that it can speak of."""
    return f"{mind.features('', Action(SPEAK), view)[0]} {''.join(map(str, sorted(options)))}"


@dataclass
class Node:
    """A game where a player who decides is about to speak (``seat``, its situation, by cluster a speech), or its end.

    ``children``: By cluster what comes next, found when it is first asked for.
    """

    game: Deduction
    seat: int = 0
    key: str = ""
    options: Mapping[int, Action] = field(default_factory=dict)
    children: dict[int, Node] = field(default_factory=dict)


@dataclass
class CFR:
    """External-sampling CFR on a game: by situation the regrets of each cluster, and the sum of what was played.

    ``mind``: Speeches that may be thought of, and the situation (the first of its features). ``centres``: Of the
    clusters. ``script``: Does all else. ``deciders``: Roles that decide; empty: all.
    """

    mind: Mind
    centres: Floats
    script: Agent
    deciders: frozenset[str] = frozenset()
    regrets: dict[str, Floats] = field(default_factory=dict)
    sums: dict[str, Floats] = field(default_factory=dict)
    rounds: int = 0

    def root(self, game: Deduction) -> Node:
        """Where somebody first decides."""
        game = game.clone()
        while acting := game.acting():
            seat = game.agents.index(acting[0]) + 1
            view = Observation(game, acting[0])
            if SPEAK in view.legal and (not self.deciders or game.role_of(seat) in self.deciders):
                thought = self.mind.candidates(view)
                options = {one: thought[name] for one, name in by_cluster(thought, self.centres).items()}
                return Node(game, seat, key_of(self.mind, view, options), options)
            game.step({name: self.script.act(Observation(game, name)) for name in acting})
        return Node(game)

    def child(self, node: Node, cluster: int) -> Node:
        """What comes of a speech."""
        if cluster not in node.children:
            game = node.game.clone()
            game.do(node.options[cluster])
            node.children[cluster] = self.root(game)
        return node.children[cluster]

    def walk(self, node: Node, seat: int, draws: Random) -> float:
        """What a seat's team gets; its regrets are learned on the way, and what the others play is summed."""
        if not node.seat:
            return node.game.outcome()[node.game.agents[seat - 1]][WIN] or 0.0
        held = np.isin(np.arange(len(self.centres)), list(node.options))
        wanted = np.maximum(self.regrets.get(node.key, 0.0), 0.0) * held  # Regret matching.
        chances: Floats = wanted / wanted.sum() if wanted.sum() > 0 else held / held.sum()
        if node.seat != seat:
            self.sums[node.key] = self.sums.get(node.key, 0.0) + chances
            (cluster,) = draws.choices(range(len(chances)), chances.tolist())
            return self.walk(self.child(node, cluster), seat, draws)
        values = np.zeros(len(chances))
        for cluster in node.options:
            values[cluster] = self.walk(self.child(node, cluster), seat, draws)
        mean = float(values @ chances)
        self.regrets[node.key] = self.regrets.get(node.key, 0.0) + held * (values - mean)
        return mean

    def learn(self, roots: Iterable[Node], draws: Random) -> None:
        """One round for each game: every seat that is still asked learns once."""
        for root in roots:
            self.rounds += 1
            for seat in range(1, len(root.game.agents) + 1):
                self.walk(root, seat, draws)

    @property
    def regret(self) -> float:
        """The sum over situations of the largest regret, a round: it bounds how far the average is from equilibrium."""
        return sum(max(float(one.max()), 0.0) for one in self.regrets.values()) / max(self.rounds, 1)

    def average(self) -> dict[str, list[float]]:
        """By situation the average strategy."""
        return {key: (one / one.sum()).round(6).tolist() for key, one in sorted(self.sums.items())}


@dataclass
class LatentSpeaker(Choosing):
    """Speaks by the average strategy: draws a cluster of those that its candidates are of."""

    def many(self, view: Observation) -> bool:
        """Several candidates are thought of for a speech alone."""
        return SPEAK in view.legal

    def chosen(self, thought: Candidates, view: Observation) -> str:
        """The first speech of the cluster that is drawn; in a situation that was never met any."""
        if not self.many(view):
            return next(iter(thought))
        speeches = {name: act for name, act in thought.items() if act.kind == SPEAK} or thought
        found, row = by_cluster(speeches, self.centres), self.strategy(view)
        return Random(view.draws.random()).choices([*found.values()], [row[one] + 1e-9 for one in found])[0]

    def strategy(self, view: Observation) -> Sequence[float]:
        """By cluster how probably one speaks of it; all alike in a situation that was never met."""
        found = by_cluster(self.mind.candidates(view), self.centres)
        return self.table.rows.get(key_of(self.mind, view, found), (1.0 / len(found),) * len(self.centres))

    def chance(self, view: Observation, text: str) -> float:
        """How probably one speaks of the cluster of some words, 0 where nobody may speak; raises as `act`."""
        self.table.check(view)
        (cluster,) = by_cluster({"": Action(SPEAK, text)}, self.centres)
        return self.strategy(view)[cluster] if self.many(view) else 0.0

    @property
    def centres(self) -> Floats:
        """Of the clusters [shape=(K, dimensions)]."""
        return np.array([row for name, row in self.table.rows.items() if name.startswith(_CENTRE)])


LSPO = Chooser("lspo", "lspo@FILE", LatentSpeaker)
_CENTRE = "cluster "


def spoken(games: Iterable[Deduction], mind: Mind, script: Agent) -> list[str]:
    """Every speech that was thought of while a script played some games, once each."""
    texts: dict[str, None] = {}
    for game in games:
        played = game.clone()
        while acting := played.acting():
            view = Observation(played, acting[0])
            if SPEAK in view.legal:
                texts |= dict.fromkeys(act.text for act in mind.candidates(view).values())
            played.step({name: script.act(Observation(played, name)) for name in acting})
    return list(texts)


def minimise_regret(
    mind: Mind, games: Sequence[Deduction], script: Agent, seed: int, told: Callable[[int, float], None]
) -> LearnedTable:
    """The clusters of the speeches of some games, and CFR's average strategy after one round of each.

    ``games``: Of one game and cast, each begun. ``script``: Does what is no speech. ``told``: Games so far, and the
    average regret.
    """
    centres = clustered(spoken(games[:100], mind, script), CLUSTERS, seed)
    solver, draws = CFR(mind, centres, script), Random(seed)
    for number, game in enumerate(games, 1):
        solver.learn([solver.root(game)], draws)
        told(number, solver.regret)
    rows = {f"{_CENTRE}{number}": tuple(one.round(6).tolist()) for number, one in enumerate(centres)}
    rows |= {key: tuple(row) for key, row in solver.average().items()}
    return LearnedTable("lspo", games[0].kind, cast_of(games[0].rules), rows)
