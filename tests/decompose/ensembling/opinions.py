"""Made-up opinions on made-up dialogues: some know what the turns are worth, some nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from apportion.corpus.session import Episode
from apportion.decompose.ensembling.component import Component
from apportion.decompose.reactions.model import PooledRidge, ReactionModel
from apportion.foundation.arrays import Floats
from tests.evaluation.made_up import episode
from tests.reward_model.tiny import episode as of_texts


def dialogues(count: int, seed: int = 0, turns: int = 8, told: float = 0.5) -> tuple[list[Episode], dict[str, Floats]]:
    """Episodes whose score holds the mean worth of their turns, and that worth by session.

    ``told`` is the share of the score's variance that the turns decide.
    """
    rng = np.random.default_rng(seed)
    worth = {f"s{i:04d}": rng.normal(size=turns) + 0.5 * rng.normal() for i in range(count)}
    means = np.array([of.mean() for of in worth.values()])
    noise = rng.normal(size=count) * means.std() * np.sqrt(1 / told - 1)
    scores = 50 + 10 * (means + noise)
    return [episode(name, turns, float(score)) for name, score in zip(worth, scores, strict=True)], worth


def opinion(
    name: str, episodes: list[Episode], worth: dict[str, Floats], noise: float, seed: int = 1, **declared: Any
) -> Component:
    """What the turns are worth with so much noise, in standard deviations; of pure noise where it is infinite."""
    rng = np.random.default_rng(seed)
    known, blur = (0.0, 1.0) if np.isinf(noise) else (1.0, noise)
    values = {e.key: known * worth[e.session_id] + blur * rng.normal(size=len(e.target_turns)) for e in episodes}
    return Component(name, values, **declared)


def learnt(source: Component, episodes: list[Episode], settled: float = 0.5) -> Component:
    """The same as if scores had taught it, that settle so much of what turns are worth."""
    mean, zeros = float(np.mean([e.score for e in episodes])), np.zeros(1)
    ridge = PooledRidge(zeros, zeros, 1.0, 0.0, zeros, zeros, zeros)
    left_out = {e.key: mean + 5 * float(source.values[e.key].mean()) for e in episodes}
    shares = np.array([settled / 2, settled, 1.5 * settled])
    return replace(source, learnt=ReactionModel(zeros, zeros, ridge, 0.0, (), left_out, shares, np.ones(3) / 3))


def felt(count: int, seed: int = 3) -> tuple[list[Episode], list[float]]:
    """Episodes with 4 to 8 target turns, the last without a reply, and what was felt at each of their turns."""
    chance, episodes, values = np.random.default_rng(seed), [], []
    for number in range(count):
        own = chance.choice([-1.0, 0.0, 1.0], size=int(chance.integers(4, 9)))
        said = [part for i in range(len(own)) for part in (("bot", "w1"), ("user", f"w{i}"))]
        episodes.append(of_texts(f"s{number:03d}", said[:-1], 3.0 + float(own.mean())))
        values += own.tolist()
    return episodes, values
