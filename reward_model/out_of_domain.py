"""Turns that are unlike what taught a reward model: in another language, longer, or far from all that it has read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from apportion.corpus.languages.names import codes
from apportion.foundation.errors import InputError
from apportion.reward_model.config import TrainingDomain

REFERENCE = "domain.safetensors"
REFERENCE_BYTES = 800_000
"""Of all reference embeddings together, a byte a number: a thousand turns of the embedded MiniLM."""
SPOKEN = 0.05
"""The least part of the training sessions that makes a language one that the model was taught in."""
LONGEST, FARTHEST = 0.995, 0.99
"""The parts of the training turns, and of held-out ones, that are within the bounds."""
REASONS = ("language", "length", "distance")
MARK = "unlike training: "
"""Begins what stands beside a flagged turn; the reasons follow."""

Embeddings = NDArray[np.float32]


@dataclass(frozen=True)
class Domain:
    """The bounds, and the embeddings of R training turns [shape=(R, d)] int8, each scaled to a largest number of 127.

    A turn's distance is one less its cosine with the nearest of them (deep nearest neighbours, Sun et al. 2022). The
    Mahalanobis distance in leading components does not see what is foreign: that lies outside of them.
    """

    bounds: TrainingDomain
    reference: NDArray[np.int8]

    @classmethod
    def of(
        cls, learnt: Embeddings, held_out: Embeddings, replies: Sequence[str], languages: Iterable[str | None]
    ) -> Domain:
        """The domain of N training turns ``learnt`` [shape=(N, d)], none of them of a ``held_out`` [shape=(M, d)]
        session; ``replies`` are the N texts, ``languages`` those of the training sessions."""
        rows = evenly(len(learnt), max(1, REFERENCE_BYTES // learnt.shape[1]))
        largest = np.maximum(np.abs(learnt[rows]).max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        reference = np.rint(127 * (learnt[rows] / largest)).astype(np.int8)
        farthest = _quantile(_distances(held_out, reference), FARTHEST) if len(held_out) else None
        longest = int(_quantile([len(reply) for reply in replies], LONGEST))
        return cls(TrainingDomain(languages=_spoken(languages), longest_turn=longest, distance=farthest), reference)

    def reasons(
        self, embeddings: Embeddings, replies: Sequence[str], cut: Sequence[bool], language: str | None
    ) -> list[tuple[str, ...]]:
        """Why each of N turns of one dialogue is unlike what taught the model; nothing for one that is not.

        ``cut``: whether the model read a reply's beginning alone. ``language``: of the dialogue, None where unknown.
        """
        taught, farthest = self.bounds.languages, self.bounds.distance
        foreign = bool(taught) and not codes(language) <= set(taught)
        long = [len(reply) > self.bounds.longest_turn or short for reply, short in zip(replies, cut, strict=True)]
        far = [farthest is not None and bool(away > farthest) for away in _distances(embeddings, self.reference)]
        flags = zip([foreign] * len(replies), long, far, strict=True)
        return [tuple(name for name, is_so in zip(REASONS, each, strict=True) if is_so) for each in flags]

    def save(self, folder: Path) -> None:
        """Write the reference; the bounds stand in the model's configuration."""
        save_file({"reference": self.reference}, folder / REFERENCE)

    @classmethod
    def read(cls, folder: Path, bounds: TrainingDomain | None, width: int) -> Domain | None:
        """What `save` wrote, for embeddings of ``width`` d; None of a model without ``bounds``.

        Raises InputError: The file is missing, damaged or another model's.
        """
        if bounds is None:
            return None
        path = folder / REFERENCE
        try:
            reference = load_file(path)["reference"]
        except (OSError, SafetensorError, KeyError) as error:
            raise InputError(f"{path}: not readable ({error}). Copy the model's whole folder again.") from None
        if reference.dtype != np.int8 or reference.ndim != 2 or reference.shape[1] != width:
            shape = f"{reference.dtype}{list(reference.shape)}"
            raise InputError(f"{path}: {shape}, not int8 of {width} columns. Use the files of one training.")
        return cls(bounds, reference)


def evenly(count: int, most: int) -> NDArray[np.int64]:
    """At most ``most`` places among ``count``, evenly over them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def marked(reasons: Sequence[str]) -> str | None:
    """What stands beside a flagged turn in a table; None for a turn like those that taught the model."""
    return f"{MARK}{', '.join(reasons)}" if reasons else None


@dataclass(frozen=True)
class Unlike:
    """How many of ``turns`` are flagged, in all, for each reason, and as a share of each session with any."""

    turns: int
    flagged: int
    by: dict[str, int]
    sessions: dict[str, float]

    @classmethod
    def of(cls, session_ids: Sequence[str], marks: Sequence[str | None]) -> Unlike:
        """Counted from what `marked` gave, a turn each."""
        flagged = [(name, mark) for name, mark in zip(session_ids, marks, strict=True) if mark is not None]
        turns, unlike = Counter(session_ids), Counter(name for name, _ in flagged)
        by = Counter(reason for _, mark in flagged for reason in mark.removeprefix(MARK).split(", "))
        shares = {name: round(count / turns[name], 4) for name, count in sorted(unlike.items())}
        return cls(len(session_ids), len(flagged), {name: by[name] for name in REASONS if by[name]}, shares)

    @property
    def share(self) -> float:
        """Of all turns."""
        return self.flagged / max(1, self.turns)


def _spoken(languages: Iterable[str | None]) -> tuple[str, ...]:
    known = [codes(language) for language in languages if language is not None]
    counts = Counter(code for spoken in known for code in spoken)
    return tuple(sorted(code for code, count in counts.items() if count >= SPOKEN * len(known)))


def _distances(embeddings: Embeddings, reference: NDArray[np.int8]) -> NDArray[np.float32]:
    nearest = (_unit(embeddings) @ _unit(reference.astype(np.float32)).T).max(axis=1, initial=-1.0)
    distances: NDArray[np.float32] = 1 - nearest
    return distances


def _unit(vectors: Embeddings) -> Embeddings:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Embeddings = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit


def _quantile(values: Sequence[int] | NDArray[np.float32], part: float) -> float:
    """One of the values, and of a few the largest: nothing is between two of them."""
    return float(np.quantile(np.asarray(values), part, method="higher"))
