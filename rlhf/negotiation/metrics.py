"""What games came to (section 6): advantage, Pareto-optimality, agreement, novelty, and what else the paper reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.environments.negotiation.vectorized import NO_ACT, ParetoOptima
from apportion.rlhf.negotiation.model.network import Weights
from apportion.rlhf.negotiation.novelty import likely
from apportion.rlhf.negotiation.self_play import Played


@dataclass(frozen=True)
class NegotiationMetrics:
    """Of one seed's games.

    ``advantage``: Mean of r_A - r_B over all games. ``pareto``: Share of the agreed deals that no deal weakly
    dominates; None: nothing was agreed on. ``agreement``: Share of games whose two selections add up to the pool.
    ``novelty``: 1 - the partner's mean probability of Alice's acts (as the figures; the text says log-likelihood);
    None: the partner is no network. ``joint``, ``equal``: Share of all games that end with the most points together; in
    a deal with the same points for both. ``length``: Mean number of acts. ``unique``: Different acts of Alice over all
    games. ``points``, ``partner_points``: Mean points.
    """

    advantage: float
    pareto: float | None
    agreement: float
    novelty: float | None
    joint: float
    equal: float
    length: float
    unique: int
    points: float
    partner_points: float

    def to_json(self) -> dict[str, float | None]:
        """By name."""
        return asdict(self)


def measure(played: Played, optima: ParetoOptima, partner: Weights | None) -> list[NegotiationMetrics]:
    """One `NegotiationMetrics` a seed; ``optima`` is of every game [shape=(S * G, ...)], ``partner`` Bob's network."""
    novel = None if partner is None else novelty(played, partner)
    groups = np.arange(len(played.games)).reshape(played.seeds, -1)
    shown = [None if novel is None else float(novel[seed]) for seed in range(played.seeds)]
    return [_of(played, optima, rows, shown[seed]) for seed, rows in enumerate(groups)]


def _of(played: Played, optima: ParetoOptima, rows: NDArray[np.int64], novel: float | None) -> NegotiationMetrics:
    agreed, points = played.agreed[rows], played.points[rows].astype(np.float64)
    best = optima.pareto[rows, played.taken[rows, 0]]
    acts = played.games.acts[rows]
    turns = np.arange(acts.shape[1])
    own = ((played.games.starters[rows, None] + turns) % 2 == 0) & (acts != NO_ACT)
    return NegotiationMetrics(
        advantage=float((points[:, 0] - points[:, 1]).mean()),
        pareto=float(best[agreed].mean()) if agreed.any() else None,
        agreement=float(agreed.mean()),
        novelty=novel,
        joint=float((agreed & (points.sum(1) == optima.joint[rows])).mean()),
        equal=float((agreed & (points[:, 0] == points[:, 1])).mean()),
        length=float(played.games.lengths[rows].mean()),
        unique=len(np.unique(acts[own])),
        points=float(points[:, 0].mean()),
        partner_points=float(points[:, 1].mean()),
    )


def novelty(played: Played, partner: Weights) -> NDArray[np.float64]:
    """1 - mean probability of Alice's acts by the partner's network, in her context and place [shape=(S,)]."""
    of = likely(partner, played.games, played.seeds)
    total = np.where(of.own, np.exp(of.said), 0.0).sum((1, 2))
    return np.asarray(1.0 - total / np.maximum(1, of.own.sum((1, 2))))
