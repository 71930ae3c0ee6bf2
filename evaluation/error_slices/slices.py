"""One kind of turn in the half that it is held to: figures, and turns to look at."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apportion.evaluation.confidence_intervals.bootstrap import difference_of_ratios, ratio
from apportion.evaluation.error_slices.result import Example, Family, Slice, SliceSettings
from apportion.evaluation.error_slices.turns import Mask, TargetTurns
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.foundation.intervals.proportion import wilson
from apportion.foundation.intervals.resampling import Sampling, interval

MOST = 0.6
"""A cue or place that this share of a kind's turns has says something of it, where twice as few others have it."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A kind that one half proposes.

    ``mask`` [shape=(N,)] are its turns among all, ``beside`` [shape=(N,)] those and what they are compared with,
    ``found`` how far apart these are in that half; ``distances`` [shape=(N,)] are those of each turn from the middle of
    the kind, None where no cluster tells it.
    """

    family: Family
    name: str
    words: tuple[str, ...]
    mask: Mask
    beside: Mask
    found: float
    distances: Floats | None


def described(
    proposal: Proposal,
    turns: TargetTurns,
    half: Mask,
    sums: Floats,
    p: float,
    settings: SliceSettings,
) -> Slice:
    """The kind with the figures of ``half`` [shape=(N,)].

    ``sums`` float64 [shape=(S, 2)]: what each session of that half contributes to the difference. ``p``: of the
    difference, corrected.
    """
    here, others = proposal.mask & half, ~proposal.mask & half
    sampling = Sampling(settings.resamples, settings.seed, settings.confidence)
    difference = IntervalEstimate(float(ratio(sums.sum(axis=0))), *interval(sums, ratio, sampling))
    sessions = np.unique(turns.sessions[half])
    having = np.unique(turns.sessions[here])
    share = len(having) / len(sessions)
    words = frozenset(proposal.words)
    return Slice(
        proposal.family,
        proposal.name,
        difference,
        p,
        proposal.found,
        int(here.sum()),
        float(turns.rewards[here].mean()),
        IntervalEstimate(share, *wilson(share, len(sessions), settings.confidence)),
        _score_gap(turns, here, half, sampling),
        _holding(turns, here, words) if words else None,
        _holding(turns, others, words) if words else None,
        _mostly(proposal, turns, here, others),
        _examples(proposal, turns, here, settings.examples),
    )


def _score_gap(turns: TargetTurns, here: Mask, half: Mask, sampling: Sampling) -> IntervalEstimate | None:
    """Mean score of the half's episodes that have the kind less that of those that have not, by session."""
    known = half & np.isfinite(turns.scores)
    episodes, at = np.unique(turns.episodes[known], return_index=True)
    if not len(episodes):
        return None
    scores, sessions = turns.scores[known][at], turns.sessions[known][at]
    has = np.isin(episodes, turns.episodes[here]).astype(np.float64)
    if has.all() or not has.any():
        return None
    columns = np.stack([scores * has, has, scores * (1 - has), 1 - has], axis=1)
    _, places = np.unique(sessions, return_inverse=True)
    sums = np.zeros((places.max() + 1, 4))
    np.add.at(sums, places, columns)
    return IntervalEstimate(
        float(difference_of_ratios(sums.sum(axis=0))), *interval(sums, difference_of_ratios, sampling)
    )


def _holding(turns: TargetTurns, mask: Mask, words: frozenset[str]) -> float | None:
    """The share of the turns of ``mask`` that hold one of ``words``."""
    places = np.flatnonzero(mask).tolist()
    return float(np.mean([bool(words & words_of(turns.texts[i])) for i in places])) if places else None


def _mostly(proposal: Proposal, turns: TargetTurns, here: Mask, others: Mask) -> tuple[str, ...]:
    """Cues and places that go with the kind; none of a kind that is one itself."""
    if proposal.distances is None:
        return ()
    shares = {name: (of[here].mean(), of[others].mean() if others.any() else 0.0) for name, of in turns.traits.items()}
    telling = [name for name, (inside, outside) in shares.items() if inside >= MOST and inside >= 2 * outside]
    return tuple(name.partition(": ")[2] for name in telling)


def _examples(proposal: Proposal, turns: TargetTurns, here: Mask, wanted: int) -> tuple[Example, ...]:
    """Turns of different sessions and words, the most typical first; none whose reward is unusual for the kind."""
    places = np.flatnonzero(here)
    off = np.abs(turns.rewards[places] - turns.rewards[places].mean())
    usual = off <= np.median(off)
    places, off = places[usual], off[usual]
    far = off if proposal.distances is None else proposal.distances[places]
    chosen: list[Example] = []
    seen: set[object] = set()
    # Of turns that are as typical, such as those of the same words, the one with the most usual reward.
    for i in places[np.lexsort((off, np.round(far, 6)))].tolist():
        text = " ".join(turns.texts[i].lower().split())
        if int(turns.sessions[i]) in seen or text in seen:
            continue
        seen |= {int(turns.sessions[i]), text}
        session_id, rater, target, name = turns.ids[i].episode
        reward = float(turns.rewards[i])
        chosen.append(Example(session_id, rater, target, name, turns.ids[i].turn, turns.texts[i], reward))
        if len(chosen) == wanted:
            break
    return tuple(chosen)


WORD = re.compile(r"[^\W\d_](?:[\w'’]*[^\W_])?")
"""A word has a letter first, so that times and prices name nothing."""
LEAST_SHARE = 0.15
"""A word that fewer turns of the kind hold does not name it."""
FEWEST_SESSIONS = 3
"""A word of fewer conversations may be a person's name, and names nobody's kind of turn."""
RARER = 1.5
"""A word names a kind where its turns hold it so many times as often as others."""
MOST_WORDS = 4


def words_of(text: str) -> frozenset[str]:
    """The different words of a text, in small letters.

    >>> sorted(words_of("Sorry, I can't find 2 rooms. SORRY!"))
    ["can't", 'find', 'i', 'rooms', 'sorry']
    """
    return frozenset(map(sys.intern, WORD.findall(text.lower().replace("’", "'"))))


def distinctive_words(
    said: Sequence[frozenset[str]], sessions: Sequence[int], others: Sequence[frozenset[str]]
) -> tuple[str, ...]:
    """The words that tell a kind's turns from the others, the strongest first; none where no word is common in them.

    A word that the share p of the kind's turns hold, and the share q of the others, counts p log(p / q): its part of
    the divergence between the two, so that it must be both common here and rare there.

    ``said``: the words of each turn of the kind. ``sessions``: the session of each of them. ``others``: the words of
    each other turn.
    """
    inside, outside = Counter(word for of in said for word in of), Counter(word for of in others for word in of)
    spoken_in: dict[str, set[int]] = {}
    for words, session in zip(said, sessions, strict=True):
        for word in words:
            spoken_in.setdefault(word, set()).add(session)

    def ratio(word: str) -> float:
        return inside[word] / len(said) * (len(others) + 1) / (outside[word] + 0.5)

    def strength(word: str) -> float:
        return inside[word] / len(said) * math.log(ratio(word))

    common = [
        word
        for word, count in inside.items()
        if count >= LEAST_SHARE * len(said) and len(spoken_in[word]) >= FEWEST_SESSIONS and ratio(word) >= RARER
    ]
    return tuple(sorted(common, key=lambda word: (-strength(word), word))[:MOST_WORDS])
