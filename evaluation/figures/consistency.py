"""Consistency: how far repeated samples of one judge agree on what kind of turn each turn is (appendix J, LLM-GELI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.schema import EPISODE_KEY

POSITIVE, NOT_POSITIVE, NO_ANNOTATION = 1, 0, -1
"""Appendix J's classes: above zero; "negative/neutral"; and what a sample gave no value."""


@dataclass(frozen=True)
class Consistency:
    """Three-class agreement of K samples of one method: the share of turns that two samples put into one class.

    ``agreement`` is the mean over ``episodes``, of the mean over the pairs of samples; ``sd_episodes`` its standard
    deviation over episodes (appendix J's +-; None for one), ``sd_pairs`` that over the pairs of samples, each pair
    averaged over the episodes (None for two samples, which are one pair).
    """

    method: str
    samples: int
    episodes: int
    turns: int
    agreement: float
    sd_episodes: float | None
    sd_pairs: float | None

    def text(self) -> str:
        """One line for a person."""
        spread = "" if self.sd_episodes is None else f" ± {self.sd_episodes:.1%}"
        return (
            f"{self.samples} samples of {self.method} put {self.agreement:.1%}{spread} of turns into the same of three "
            f"classes ({self.turns:,} turns of {self.episodes:,} conversations)"
        )


def turn_class(value: float | None) -> int:
    """Which of appendix J's three classes: positive (> 0), negative or neutral (<= 0), no annotation (null)."""
    return NO_ANNOTATION if value is None else POSITIVE if value > 0 else NOT_POSITIVE


def consistency(samples: pa.Table) -> tuple[Consistency, ...]:
    """The agreement of every method that was sampled at least twice, sorted by name.

    ``samples``: SAMPLES schema: one value, or null, for each turn and sample. Raises ValueError: the samples of an
    episode do not all judge the same turns.
    """
    grouped: dict[str, dict[tuple[str, ...], dict[int, dict[int, int]]]] = {}
    for row in samples.to_pylist():
        episode = tuple(row[name] for name in EPISODE_KEY)
        by_sample = grouped.setdefault(row["method"], {}).setdefault(episode, {})
        by_sample.setdefault(row["sample"], {})[row["turn"]] = turn_class(row["value"])
    methods = (_of_method(method, list(episodes.values())) for method, episodes in sorted(grouped.items()))
    return tuple(result for result in methods if result is not None)


def _of_method(method: str, episodes: Sequence[dict[int, dict[int, int]]]) -> Consistency | None:
    sampled = [_classes(method, by_sample) for by_sample in episodes if len(by_sample) > 1]
    if not sampled:
        return None
    # Episodes by pairs; an episode with fewer samples than others (a changed setting) has fewer pairs: left out.
    most = max(len(classes) for classes in sampled)
    whole = [classes for classes in sampled if len(classes) == most]
    pairs = list(combinations(range(most), 2))
    same = np.array([[np.mean(classes[i] == classes[j]) for i, j in pairs] for classes in whole], dtype=np.float64)
    of_episodes, of_pairs = same.mean(axis=1), same.mean(axis=0)
    return Consistency(
        method=method,
        samples=most,
        episodes=len(whole),
        turns=sum(classes.shape[1] for classes in whole),
        agreement=float(of_episodes.mean()),
        sd_episodes=float(of_episodes.std(ddof=1)) if len(whole) > 1 else None,
        sd_pairs=float(of_pairs.std(ddof=1)) if len(pairs) > 1 else None,
    )


def _classes(method: str, by_sample: dict[int, dict[int, int]]) -> NDArray[np.int64]:
    """The class of each turn in each sample, (K, T) int64."""
    turns = sorted(next(iter(by_sample.values())))
    if any(sorted(of_turn) != turns for of_turn in by_sample.values()):
        raise ValueError(f"samples of {method} judge other turns of one episode: {sorted(by_sample)}")
    return np.array([[by_sample[sample][turn] for turn in turns] for sample in sorted(by_sample)], dtype=np.int64)
