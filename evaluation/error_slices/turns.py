"""The target turns that slices are looked for in, and the halves of their sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from apportion.corpus.session import EpisodeKey
from apportion.foundation.arrays import Floats

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TurnId:
    """Where a turn is: the episode and the number of the turn."""

    episode: EpisodeKey
    turn: int


@dataclass(frozen=True, eq=False)
class TargetTurns:
    """N credited turns with what is known of each.

    - ``ids`` [length N].
    - ``texts`` [length N]: what was said.
    - ``rewards`` float64 [shape=(N,)]: of one method, in units of its own; NaN where it has none.
    - ``embeddings`` float32 [shape=(N, d)]: of the words of the turn.
    - ``traits`` [shape=(N,)]: what can be told of a turn without reading it, by name: cues (``cue: asks``) and places
      (``place: the first``).
    - ``scores`` float64 [shape=(N,)]: the score of the turn's episode, larger is better; NaN where nobody gave one.

    Raises ValueError: the lengths differ.
    """

    ids: Sequence[TurnId]
    texts: Sequence[str]
    rewards: Floats
    embeddings: NDArray[np.float32]
    traits: Mapping[str, Mask]
    scores: Floats

    def __post_init__(self) -> None:
        lengths = {len(self.ids), len(self.texts), len(self.rewards), len(self.embeddings), len(self.scores)}
        lengths |= {len(mask) for mask in self.traits.values()}
        if len(lengths) > 1:
            raise ValueError(f"what is known of the turns has different lengths: {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def episodes(self) -> NDArray[np.int64]:
        """The episode of each turn as a number from 0 [shape=(N,)]."""
        return _numbered([one.episode for one in self.ids])

    @cached_property
    def sessions(self) -> NDArray[np.int64]:
        """The session of each turn as a number from 0 [shape=(N,)]."""
        return _numbered([one.episode[0] for one in self.ids])

    @property
    def differ(self) -> bool:
        """Whether the rewards of any episode differ, rounding aside."""
        known = np.isfinite(self.rewards)
        return bool(_from_means(self.rewards[known], self.episodes[known]).any())

    def only(self, mask: Mask) -> TargetTurns:
        """The turns of ``mask`` [shape=(N,)]."""
        if mask.all():
            return self
        places = np.flatnonzero(mask).tolist()
        return TargetTurns(
            [self.ids[i] for i in places],
            [self.texts[i] for i in places],
            self.rewards[places],
            self.embeddings[places],
            {name: of[places] for name, of in self.traits.items()},
            self.scores[places],
        )

    def first_half(self, seed: int) -> Mask:
        """The turns of one half of the sessions, drawn by their ids: the same whatever else is in the run.

        Every second session in the order of a hash of ``seed`` and its id, so that both halves have as many.
        """
        names = sorted({one.episode[0] for one in self.ids}, key=lambda name: _hash(seed, name))
        half = frozenset(names[::2])
        return np.array([one.episode[0] in half for one in self.ids], np.bool_)


def _numbered(names: Sequence[object]) -> NDArray[np.int64]:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)


def _hash(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()


ROUNDING = 1e-9
"""Rewards of an episode that differ by less than this share of the largest one are alike."""


@dataclass(frozen=True, eq=False)
class SliceContrasts:
    """M kinds against the rest of their conversations.

    - ``difference`` float64 [shape=(M,)]: mean reward of the kind less that of the others in the same episodes; NaN
      where no episode has both.
    - ``t`` float64 [shape=(M,)]: the difference over its standard error by session; 0 where there is none to be told.
    - ``p`` float64 [shape=(M,)]: of t, two-sided; 1 where there is no difference to be told.
    - ``effective`` float64 [shape=(M,)]: how many sessions of equal weight would tell as much.
    - ``sums`` float64 [shape=(S, M, 2)]: what each of S sessions contributes: sum x~ r~ and sum x~^2.
    """

    difference: Floats
    t: Floats
    p: Floats
    effective: Floats
    sums: Floats


def contrasts(turns: TargetTurns, kinds: NDArray[np.bool_]) -> SliceContrasts:
    """Compare the turns of M ``kinds`` [shape=(N, M)] with the others of their episodes."""
    known = np.isfinite(turns.rewards)
    sessions, episodes = turns.sessions[known], turns.episodes[known]
    count = int(turns.sessions.max(initial=-1)) + 1
    rewards = _from_means(turns.rewards[known], episodes)
    shares = kinds[known].astype(np.float64)
    products = _grouped(shares * rewards[:, None], sessions, count)
    of_kind = _grouped(shares, episodes, int(episodes.max(initial=-1)) + 1)
    length = np.bincount(episodes, minlength=len(of_kind)).astype(np.float64)
    spread = of_kind * (1 - of_kind / np.maximum(length, 1.0)[:, None])  # sum x~^2 = n1 (1 - n1 / T)
    session_of = np.zeros(len(of_kind), np.int64)
    session_of[episodes] = sessions
    weights = _grouped(spread, session_of, count)
    sums = np.stack([products, weights], axis=-1)
    return SliceContrasts(*_tested(products, weights), sums)


def _tested(products: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Difference, t, p and effective sessions of M kinds, from the sums of S sessions [shape=(S, M)] each."""
    from scipy.stats import t as student

    total = weights.sum(axis=0)
    safe = np.where(total > 0, total, 1.0)
    difference: Floats = np.where(total > 0, products.sum(axis=0) / safe, np.nan)
    effective = np.where(total > 0, total**2 / np.where(total > 0, (weights**2).sum(axis=0), 1.0), 0.0)
    residuals = np.where(total > 0, products - difference * weights, 0.0)
    taking_part = np.maximum((weights > 0).sum(axis=0), 2)
    variance = (residuals**2).sum(axis=0) / safe**2 * taking_part / (taking_part - 1)
    told = np.isfinite(difference) & (difference != 0) & (effective > 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(told, difference / np.sqrt(variance), 0.0)
    p = 2 * student.sf(np.abs(t), np.maximum(effective - 1, 1.0))
    return difference, t, p, effective


def _from_means(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """``values`` less the mean of their group; exactly zero where a group's are alike but for rounding."""
    count = np.maximum(np.bincount(groups), 1)
    distances = values - (np.bincount(groups, weights=values) / count)[groups]
    largest = float(np.abs(values).max(initial=0.0))
    nearly: Floats = np.where(np.abs(distances) <= ROUNDING * largest, 0.0, distances)
    return nearly


def _grouped(columns: Floats, groups: NDArray[np.int64], count: int) -> Floats:
    """Sums of the rows of each group [shape=(N, M) -> (count, M)]."""
    from scipy.sparse import csr_array

    rows = np.arange(len(groups))
    member = csr_array((np.ones(len(groups)), (groups, rows)), shape=(count, len(groups)))
    summed: Floats = member @ columns
    return summed
