"""Sessions whose score is the mean of what the rater felt at each turn, drawn anew by whoever asks."""

from __future__ import annotations

import numpy as np

from apportion.corpus.session import Episode
from tests.reward_model.tiny import episode


def felt(count: int, seed: int = 3) -> tuple[list[Episode], list[float]]:
    """Episodes with 4 to 8 target turns, the last without a reply, and what was felt at each of their turns."""
    chance, episodes, values = np.random.default_rng(seed), [], []
    for number in range(count):
        own = chance.choice([-1.0, 0.0, 1.0], size=int(chance.integers(4, 9)))
        said = [part for i in range(len(own)) for part in (("bot", "w1"), ("user", f"w{i}"))]
        episodes.append(episode(f"s{number:03d}", said[:-1], 3.0 + float(own.mean())))
        values += own.tolist()
    return episodes, values
