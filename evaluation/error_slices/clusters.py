"""Turns that say alike things: small clusters of their embeddings, and the tree in which these join."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.error_slices.slices import words_of
from apportion.foundation.arrays import ROWS_AT_ONCE, Floats

WORDS, FEWEST_TURNS = 400, 5
"""The commonest words that turns are told apart by, and in how many turns one has to stand."""
DIMENSIONS = 32
"""Principal directions that distances are taken in; what is left of a sentence's embedding is mostly noise."""
LEARNED_FROM = 20_000
"""Turns that the centres are learned from at most; all are assigned."""
FEWEST_A_CENTRE = 25
MOST_CENTRES = 64
ROUNDS = 30
T = TypeVar("T", bound=np.generic)


def word_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Which common words each of N turns holds, a rare one weighing more [shape=(N, W)]: w = log(N / turns with it).

    With the principal directions of `Space` this is latent semantic analysis (Deerwester et al., 1990): it needs no
    model and no language that one would know.
    """
    said = [words_of(text) for text in texts]
    turns = Counter(word for words in said for word in sorted(words))
    place = {word: at for at, (word, many) in enumerate(turns.most_common(WORDS)) if many >= FEWEST_TURNS}
    vectors = np.zeros((len(said), max(1, len(place))), np.float32)
    for row, words in enumerate(said):
        for word in words & place.keys():
            vectors[row, place[word]] = np.log(len(said) / turns[word])
    return vectors


@dataclass(frozen=True, eq=False)
class Space:
    """Where turns lie: directions learned on some of them, applied to all.

    ``mean`` [shape=(d,)] and ``axes`` [shape=(d, k)] of unit-length embeddings, ``centres`` [shape=(C, k)] of the small
    clusters.
    """

    mean: Floats
    axes: Floats
    centres: Floats

    @classmethod
    def learned(cls, embeddings: NDArray[np.float32], seed: int) -> Space:
        """Directions and small clusters of N embeddings [shape=(N, d)]: k-means, its centres drawn by ``seed``."""
        from scipy.cluster.vq import kmeans2

        rng = np.random.default_rng(seed)
        some = np.arange(len(embeddings))
        if len(some) > LEARNED_FROM:
            some = np.sort(rng.choice(some, LEARNED_FROM, replace=False))
        unit = _unit(embeddings[some])
        mean = unit.mean(axis=0)
        # Eigenvectors of the small matrix, d x d: those of all turns at once take twenty times as long.
        axes = np.linalg.eigh((unit - mean).T @ (unit - mean)).eigenvectors[:, : -DIMENSIONS - 1 : -1]
        points = (unit - mean) @ axes
        distinct = len(np.unique(np.round(points, 6), axis=0))
        wanted = min(MOST_CENTRES, max(2, len(points) // FEWEST_A_CENTRE), distinct)
        if wanted < 2:
            return cls(mean, axes, points[:1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # An empty cluster is in no group.
            centres, _ = kmeans2(points, wanted, iter=ROUNDS, minit="++", seed=seed)
        return cls(mean, axes, np.asarray(centres, np.float64))

    def points(self, embeddings: NDArray[np.float32]) -> Floats:
        """Where the embeddings [shape=(N, d)] lie [shape=(N, k)]."""
        parts = [(_unit(block) - self.mean) @ self.axes for block in _blocks(embeddings)]
        return np.concatenate(parts) if parts else np.zeros((0, self.axes.shape[1]))

    def nearest(self, points: Floats) -> NDArray[np.int64]:
        """The small cluster of each point [shape=(N,)]."""
        distances = (self.centres**2).sum(axis=1) - 2 * points @ self.centres.T
        found: NDArray[np.int64] = np.argmin(distances, axis=1)
        return found


def nested(centres: Floats, sizes: NDArray[np.int64]) -> list[frozenset[int]]:
    """Every group of small clusters that average linkage joins, the single ones first, without the one of all.

    ``centres`` float64 [shape=(C, k)]. ``sizes`` int64 [shape=(C,)]: turns of each; empty clusters are in no group.
    """
    from scipy.cluster.hierarchy import linkage

    there = [int(i) for i in np.flatnonzero(sizes)]
    groups = [frozenset([i]) for i in there]
    if len(there) < 3:
        return groups
    for left, right, *_ in linkage(centres[there], method="average")[:-1]:
        groups.append(groups[int(left)] | groups[int(right)])
    return groups


def alike(groups: Sequence[frozenset[int]], labels: NDArray[np.int64], embeddings: NDArray[np.float32]) -> Floats:
    """How alike the turns of each group are: the mean cosine of two of them [shape=(G,)]; 1 for a single one.

    ``groups`` [length G]. ``labels`` int64 [shape=(N,)]: the small cluster of each turn. ``embeddings`` float32
    [shape=(N, d)].
    """
    count = np.bincount(labels).astype(np.float64)
    sums = np.zeros((len(count), embeddings.shape[1]))
    for block, of in zip(_blocks(embeddings), _blocks(labels), strict=True):
        np.add.at(sums, of, _unit(block))
    cosines = []
    for group in groups:
        members = [i for i in group if i < len(count)]
        n, vector = count[members].sum(), sums[members].sum(axis=0)
        cosines.append((float(vector @ vector) - n) / (n * (n - 1)) if n > 1 else 1.0)
    return np.array(cosines, np.float64)


def _blocks(rows: NDArray[T]) -> list[NDArray[T]]:
    """A table of turns, `ROWS_AT_ONCE` of them at a time."""
    return [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]


def _unit(embeddings: NDArray[np.float32]) -> Floats:
    """Embeddings of length 1; what is all zeros stays so."""
    values = embeddings.astype(np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    unit: Floats = values / np.where(lengths > 0, lengths, 1.0)
    return unit
