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


@dataclass(frozen=True)
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

    def only(self, mask: Mask) -> TargetTurns:
        """The turns of ``mask`` [shape=(N,)]."""
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
