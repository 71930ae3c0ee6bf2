"""Look for kinds of turn with rewards of their own on one half of the sessions, and keep those that the other confirms.

The first half is searched as one likes: clusters of every coarseness, cues and places, the one that stands out most,
then the next among the turns that are left, while p < alpha. Nothing that it says is shown. What it proposes is tested
in the other half, once: the same sign, and a p that Holm's procedure (1979) passes among all that were proposed. So
where rewards are unrelated to turns, the chance of showing anything is at most alpha, however many kinds were looked
at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.error_slices.clusters import Space, alike, nested
from apportion.evaluation.error_slices.result import ErrorSlices, SliceSettings
from apportion.evaluation.error_slices.slices import Proposal, described, distinctive_words, words_of
from apportion.evaluation.error_slices.turns import Mask, TargetTurns, contrasts
from apportion.evaluation.holm import holm
from apportion.foundation.arrays import Floats


@dataclass(frozen=True, eq=False)
class _Search:
    """Everything that the first half is asked about.

    ``masks`` [shape=(N, M)] are of all turns: a column a group of small clusters, then one a trait; ``points``
    [shape=(N, k)] where the turns lie, ``coherent`` [shape=(G,)] which groups are one kind.
    """

    space: Space
    points: Floats
    masks: NDArray[np.bool_]
    groups: Sequence[frozenset[int]]
    coherent: Mask
    traits: Sequence[str]


def find_slices(turns: TargetTurns, method: str, settings: SliceSettings | None = None) -> ErrorSlices:
    """The kinds of turn whose rewards differ from the rest of their conversations in both halves of the sessions.

    ``turns``: those without a reward are passed over. ``method``: whose rewards they are; written into the result.
    """
    settings = settings or SliceSettings()
    turns = turns.only(np.isfinite(turns.rewards))
    half = turns.first_half(settings.seed) if len(turns) else np.zeros(0, np.bool_)
    first, second = turns.only(half), turns.only(~half)
    counts = tuple(int(of.sessions.max(initial=-1)) + 1 for of in (first, second))
    sizes = (len(first), len(second))
    reason = None
    if min(counts) < settings.fewest_sessions:
        reason = (
            f"{sum(counts)} sessions have rewards by {method}; at least {2 * int(settings.fewest_sessions)} are "
            "needed, one half to find kinds in and the other to hold them to"
        )
    elif not turns.differ:
        reason = f"{method} pays all turns of a conversation the same, so that no kind of turn can stand out"
    if reason is not None:
        return ErrorSlices(method, settings, (counts[0], counts[1]), sizes, 0, 0, reason)
    search = _searched(turns, half, settings)
    proposals = _proposed(search, turns, half, settings)
    held = [contrasts(second.only(one.beside[~half]), one.mask[~half & one.beside, None]) for one in proposals]
    corrected = holm(np.array([of.p[0] for of in held]))
    kinds = []
    for proposal, of, p in zip(proposals, held, corrected.tolist(), strict=True):
        agrees = np.sign(of.difference[0]) == np.sign(proposal.found)
        if agrees and of.effective[0] >= settings.fewest_sessions and p < settings.alpha:
            kinds.append(described(proposal, turns, ~half, of.sums[:, 0], p, settings))
    kinds.sort(key=lambda kind: (kind.difference.value, kind.name))
    tried, candidates = search.masks.shape[1], len(proposals)
    return ErrorSlices(method, settings, (counts[0], counts[1]), sizes, tried, candidates, kinds=tuple(kinds))


def _searched(turns: TargetTurns, half: Mask, settings: SliceSettings) -> _Search:
    """What the first half can be asked about; neither rewards nor the other half say what there is."""
    space = Space.learned(turns.embeddings[half], settings.seed)
    points = space.points(turns.embeddings)
    labels = space.nearest(points)
    groups = nested(space.centres, np.bincount(labels[half], minlength=len(space.centres)))
    cosines = alike(groups, labels[half], turns.embeddings[half])
    singles = [cosine for cosine, group in zip(cosines, groups, strict=True) if len(group) == 1]
    (usual,) = alike([frozenset(range(len(space.centres)))], labels[half], turns.embeddings[half])
    # Half way from any two turns to two of one small cluster: what is further apart is several kinds.
    coherent = cosines >= (usual + float(np.median(singles))) / 2
    coherent |= np.array([len(group) == 1 for group in groups])
    of_groups = [np.isin(labels, list(group)) for group in groups]
    masks = np.stack([*of_groups, *turns.traits.values()], axis=1)
    return _Search(space, points, masks, groups, coherent, list(turns.traits))


def _proposed(search: _Search, turns: TargetTurns, half: Mask, settings: SliceSettings) -> list[Proposal]:
    """What goes into the other half, one after the other: the kind that stands out most among the turns that are left.

    A turn is of one kind alone, and each kind is compared with what no kind before it has taken: else the rest of a
    conversation would seem to earn what one dear turn costs, and a cue and its words would be told twice.
    """
    share = search.masks[half].mean(axis=0)
    eligible = np.array([*search.coherent, *(True for _ in search.traits)])
    eligible[: len(search.groups)] &= share[: len(search.groups)] <= settings.largest_share
    left = np.ones(len(turns), np.bool_)
    proposals: list[Proposal] = []
    while eligible.any():
        columns = np.flatnonzero(eligible)
        first = turns.only(half & left)
        found = contrasts(first, search.masks[np.ix_(half & left, columns)])
        standing = (found.effective >= settings.fewest_sessions) & (found.p < settings.alpha)
        if not standing.any():
            break
        best = int(np.argmax(np.where(standing, np.abs(found.t), -1.0)))
        column, mask = int(columns[best]), search.masks[:, columns[best]] & left
        proposals.append(_proposal(search, column, mask, left.copy(), float(found.difference[best]), turns, half))
        left &= ~mask
        eligible[column] = False
    return proposals


def _proposal(
    search: _Search, column: int, mask: Mask, beside: Mask, found: float, turns: TargetTurns, half: Mask
) -> Proposal:
    """What the first half calls the kind of ``column``, and how far each turn is from its middle."""
    if column >= len(search.groups):
        family, _, name = search.traits[column - len(search.groups)].partition(": ")
        return Proposal("cue" if family == "cue" else "place", name, (), mask, beside, found, None)
    inside, outside = np.flatnonzero(mask & half), np.flatnonzero(~mask & half)
    said = {i: words_of(turns.texts[i]) for i in np.flatnonzero(half).tolist()}
    others = [said[i] for i in outside.tolist()]
    words = distinctive_words([said[i] for i in inside.tolist()], turns.sessions[inside].tolist(), others)
    middle = search.points[inside].mean(axis=0)
    distances = ((search.points - middle) ** 2).sum(axis=1)
    nearest = turns.texts[int(inside[np.argmin(distances[inside])])]
    return Proposal("words", " · ".join(words) or nearest, words, mask, beside, found, distances)
