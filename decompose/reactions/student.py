"""A linear student of what somebody judged of turns: it reads the reply to a turn and foretells the judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError

OF_THE_DIALOGUE = (
    "asked before", "words before", "words of the turn", "length of the turn", "turn asks", "turn regrets",
)  # fmt: skip
"""Cues that look beyond the reply. What repeating oneself or a long turn means differs from corpus to corpus."""
EMBEDDING_SHARE, CUE_SHARE = 4.0, 0.5
"""Length of a reply's standardised embedding and weight of each cue, as `decompose.reactions.model` has them."""
PENALTIES = 10.0 ** np.arange(-1, 3.1, 0.5)
"""Tried for the penalty, in units of the mean squared singular value of the features."""


@dataclass(frozen=True, eq=False)
class Student:
    """A turn whose reply has the numbers x is worth ((x - centre) / scale) . weights, in standard deviations of the
    judgements.

    ``agreement`` is the mean within-dialogue Spearman with the judgements of sets that it had not seen, for each
    penalty that was tried; ``penalty`` the one of most.
    """

    centre: Floats
    scale: Floats
    weights: Floats
    penalty: float
    agreement: tuple[float, ...]


def learn_student(reactions: Reactions, judged: Floats, sets: Sequence[str]) -> Student:
    """A ridge regression of judgements on replies, whose penalty is the one that travels best from set to set.

    Dialogues of one set are alike in ways that others' are not, so that leaving out dialogues alone would choose too
    small a penalty: each set in turn is left out, and what the others teach is held against its judgements.

    - ``judged`` (float64 [shape=(N,)]): What was judged of each turn; NaN for nothing. Turns that nobody replied to
      teach nothing.
    - ``sets`` (sequence of str, length S): Which set each episode belongs to; two or more.

    Raises InputError: Fewer than two sets, judgements of another length or that never vary.
    """
    columns = np.concatenate([reactions.embeddings, reactions.cues], axis=1)
    if len(judged) != len(columns) or len(sets) != len(reactions.episodes):
        raise InputError(
            f"{len(judged)} judgements and {len(sets)} names of sets for {len(columns)} turns of "
            f"{len(reactions.episodes)} dialogues; give one each."
        )
    if len(set(sets)) < 2:
        raise InputError(
            f"all dialogues belong to one set ({sets[0] if sets else 'none'}): the penalty is the one that travels "
            "from one to another. Name two or more."
        )
    turns = [len(episode.target_turns) for episode in reactions.episodes]
    set_of = np.repeat(np.array(sets), turns)
    dialogue_of = np.repeat(np.arange(len(turns)), turns)
    told = reactions.replied & np.isfinite(judged)
    if not told.any() or np.ptp(judged[told]) == 0:
        raise InputError("the judgements of turns with a reply are all alike, which teaches nothing. Give others.")
    centre = columns[told].mean(axis=0)
    scale = _scale(columns[told], reactions.embeddings.shape[1])
    features = ((columns - centre) / scale)[told]
    values = (judged[told] - judged[told].mean()) / judged[told].std()
    agreement = _across(features, values, set_of[told], dialogue_of[told])
    best = int(np.argmax(agreement))
    return Student(centre, scale, _ridge(features, values, [best])[0], float(PENALTIES[best]), tuple(agreement))


def _scale(columns: Floats, width: int) -> Floats:
    """What each column is divided by; infinite for one that never varies or looks beyond the reply."""
    sd = columns.std(axis=0)
    left_out = np.array([False] * width + [name in OF_THE_DIALOGUE for name in CUES])
    share = np.full(columns.shape[1], CUE_SHARE)
    share[:width] = EMBEDDING_SHARE / np.sqrt(width)
    counts = (sd > 1e-9 * np.maximum(1.0, np.abs(columns).max(axis=0))) & ~left_out
    return np.where(counts, np.where(counts, sd, 1.0) / share, np.inf)


def _across(features: Floats, values: Floats, set_of: NDArray[np.str_], dialogue_of: NDArray[np.int64]) -> list[float]:
    """The agreement on sets that were left out, for each of the penalties; every set counts the same."""
    found = np.zeros(len(PENALTIES))
    names = sorted(set(set_of.tolist()))
    for name in names:
        taught = set_of != name
        centre = features[taught].mean(axis=0)
        weights = _ridge(features[taught] - centre, values[taught] - values[taught].mean(), range(len(PENALTIES)))
        left = features[~taught] - centre
        found += [_within(left @ of, values[~taught], dialogue_of[~taught]) for of in weights]
    return [float(agreement) for agreement in found / len(names)]


def _ridge(features: Floats, values: Floats, places: Sequence[int]) -> list[Floats]:
    """The weights of the penalties at ``places``."""
    left, singular, right = np.linalg.svd(features, full_matrices=False)
    along = left.T @ values
    scale = float(np.mean(singular**2))
    return [right.T @ (singular / (singular**2 + PENALTIES[i] * scale) * along) for i in places]


def _within(found: Floats, judged: Floats, dialogue_of: NDArray[np.int64]) -> float:
    """Mean Spearman within dialogues of three or more turns whose judgements differ; a constant one counts as 0."""
    agreements = []
    for dialogue in np.unique(dialogue_of):
        own = dialogue_of == dialogue
        if own.sum() >= 3 and np.ptp(judged[own]) > 0:
            one, other = rankdata(found[own]), rankdata(judged[own])
            agreements.append(float(np.corrcoef(one, other)[0, 1]) if np.ptp(one) > 0 else 0.0)
    return float(np.mean(agreements)) if agreements else 0.0
