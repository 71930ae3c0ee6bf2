"""Agreement with people who labelled the turns: within-session Spearman, pooled AUC, and what one annotator reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.confidence_intervals.bootstrap import (
    BootstrapResult,
    Missing,
    ratio,
    resample,
    resample_counts,
)
from apportion.evaluation.references.test_set import Bools, TestSet
from apportion.evaluation.references.turn_labels import TurnLabels, mean_at, without_rounding
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats

CONSTANT = 1e-12
"""Values whose range is below this share of their size are constant: the rest is rounding."""
CHUNK = 4_000_000
"""Pairs of turns that are compared at once for the AUC."""


@dataclass(frozen=True)
class AgreementCounts:
    """What the agreement rests on.

    ``episodes`` enter the correlation; ``few`` have fewer labelled target turns than asked for and ``constant`` the
    same label on all of them: both are left out. ``above`` and ``below`` are the labelled turns of the AUC.
    """

    label: str
    episodes: int
    few: int
    constant: int
    above: int
    below: int
    middle_is: str
    dropped: int


def count(held: TestSet, labels: TurnLabels, settings: EvaluationSettings) -> AgreementCounts:
    """Which of the held-out episodes and turns the agreement can use."""
    mean, centred = labels.means(held.turns)
    sizes, varied = zip(*((len(at), _varies(mean[at])) for at in _labelled(held, mean)), strict=True)
    enough = np.array(sizes) >= settings.labelled_turns
    return AgreementCounts(
        label=labels.name,
        episodes=int((enough & np.array(varied)).sum()),
        few=int((~enough).sum()),
        constant=int((enough & ~np.array(varied)).sum()),
        above=int((centred > 0).sum()),
        below=int((centred < 0).sum()),
        middle_is=labels.middle_is,
        dropped=labels.dropped,
    )


def spearman(values: Floats, labels: Floats) -> Floats:
    """Spearman's rank correlation, ties by mean rank; 0 where the values or the labels are constant.

    ``values`` float64 [shape=(K, T)]. ``labels`` float64 [shape=(T,)]. Returns float64 [shape=(K,)].
    """
    from scipy.stats import rankdata

    theirs = rankdata(labels) - (len(labels) + 1) / 2
    mine = rankdata(values, axis=1) - (len(labels) + 1) / 2
    power = np.sqrt(np.square(mine).sum(axis=1) * np.square(theirs).sum())
    usable = np.array([_varies(row) for row in values]) & (power > 0)
    return np.where(usable, mine @ theirs / np.where(power > 0, power, 1.0), 0.0)


def within_session(
    held: TestSet, values: Floats, labels: TurnLabels, settings: EvaluationSettings
) -> BootstrapResult | Missing:
    """Mean over episodes of the Spearman correlation of turn values with the mean human label.

    Episodes with fewer than ``settings.labelled_turns`` labelled target turns, or whose labels do not differ, are
    left out; constant values count as 0.

    ``values`` float64 [shape=(K, N)].
    """
    return within_episodes(held, values, labels.means(held.turns)[0], settings)


def within_episodes(
    held: TestSet, values: Floats, others: Floats, settings: EvaluationSettings
) -> BootstrapResult | Missing:
    """The same with ``others`` [shape=(N,)] in the place of labels; NaN where a turn has none."""
    sums = np.zeros((len(values), len(held.session_ids), 2))
    for episode, at in enumerate(_labelled(held, others)):
        if len(at) >= settings.labelled_turns and _varies(others[at]):
            session = held.session_of_episode[episode]
            sums[:, session, 0] += spearman(values[:, at], others[at])
            sums[:, session, 1] += 1
    return _mean_over_sessions(sums, settings)


def pooled_auc(
    held: TestSet, values: Floats, labels: TurnLabels, settings: EvaluationSettings
) -> BootstrapResult | Missing:
    """Probability that a turn labelled above the middle has a larger value than one labelled below it.

    Over all held-out turns together, ties count as half; turns labelled exactly in the middle are left out.

    ``values`` float64 [shape=(K, N)].
    """
    _, centred = labels.means(held.turns)
    judged = np.isfinite(centred) & (centred != 0)
    return _auc(values[:, judged], centred[judged] > 0, held.session_of_turn[judged], settings)


def one_annotator(
    held: TestSet, labels: TurnLabels, settings: EvaluationSettings
) -> tuple[BootstrapResult | Missing, BootstrapResult | Missing]:
    """The same two figures for a single annotator's labels against the mean of the others: a noisy reference.

    Each annotator of an episode who labelled enough turns that others labelled too counts once; the correlation
    is averaged over them, then over episodes. An annotator who gave one label throughout ranks nothing and is left
    out, which makes the reference a harder one than counting it as 0 would.
    """
    if len(np.unique(labels.annotator)) < 2:
        alone = Missing("one annotator a turn: there are no others to compare with")
        return alone, alone
    others, centred = _leave_one_out(held, labels)
    known = np.isfinite(others)
    if not known.any():
        alone = Missing("no turn has labels of two annotators")
        return alone, alone
    sums = np.zeros((1, len(held.session_ids), 2))
    episode_of = np.repeat(np.arange(len(held.episodes)), held.lengths)[labels.at]
    pair = episode_of * (labels.annotator.max() + 1) + labels.annotator
    by_episode: dict[int, list[float]] = {}
    for group in np.unique(pair[known]):
        mine = np.flatnonzero(known & (pair == group))
        enough = len(mine) >= settings.labelled_turns
        if enough and _varies(others[mine]) and _varies(labels.value[mine]):
            rho = spearman(labels.value[mine][None], others[mine])[0]
            by_episode.setdefault(int(episode_of[mine[0]]), []).append(float(rho))
    for episode, correlations in by_episode.items():
        sums[0, held.session_of_episode[episode]] += (np.mean(correlations), 1.0)
    judged = known & (centred != 0)
    sessions = held.session_of_turn[labels.at[judged]]
    auc = _auc(labels.value[judged][None], centred[judged] > 0, sessions, settings)
    return _mean_over_sessions(sums, settings), auc


def _leave_one_out(held: TestSet, labels: TurnLabels) -> tuple[Floats, Floats]:
    """For every label the mean of the other annotators' on its turn, and its distance from the middle [shape=(M,)]."""
    n = np.bincount(labels.at, minlength=held.turns)[labels.at]
    results = []
    for value in (labels.value, labels.value - labels.middle):
        total = (mean_at(labels.at, value, held.turns) * np.bincount(labels.at, minlength=held.turns))[labels.at]
        with np.errstate(invalid="ignore", divide="ignore"):
            results.append(np.where(n > 1, (total - value) / (n - 1), np.nan))
    return results[0], without_rounding(results[1])


def _labelled(held: TestSet, mean: Floats) -> list[NDArray[np.int64]]:
    """The labelled turns of each episode, as positions among the N."""
    return [
        start + np.flatnonzero(np.isfinite(mean[start : start + length]))
        for start, length in zip(held.starts, held.lengths, strict=True)
    ]


def _varies(values: Floats) -> bool:
    return len(values) > 0 and bool(np.ptp(values) > CONSTANT * max(1.0, float(np.abs(values).max())))


def _mean_over_sessions(sums: Floats, settings: EvaluationSettings) -> BootstrapResult | Missing:
    used = sums[0, :, 1] > 0
    if not used.any():
        return Missing(f"no held-out session has {settings.labelled_turns} labelled target turns whose labels differ")
    return resample(sums[:, used], ratio, settings)


def _auc(
    values: Floats, positive: Bools, sessions: NDArray[np.int64], settings: EvaluationSettings
) -> BootstrapResult | Missing:
    """AUC over turns in the order of their sessions, resampled by session [shape=(K, n), (n,), (n,)]."""
    if positive.all() or not positive.any():
        return Missing("no held-out turns are labelled on both sides of the middle")
    up, down = np.flatnonzero(positive), np.flatnonzero(~positive)
    names, session = np.unique(sessions, return_inverse=True)
    counts = resample_counts(len(names), settings)
    down_sessions, down_first = np.unique(session[down], return_index=True)
    won, replicates = np.zeros(len(values)), np.zeros(settings.bootstrap)
    step = max(1, CHUNK // len(down))
    for block in (up[i : i + step] for i in range(0, len(up), step)):
        up_sessions, up_first = np.unique(session[block], return_index=True)
        pairs = np.zeros((len(up_sessions), len(down_sessions)))
        for seed, row in enumerate(values):
            wins = 0.5 + 0.5 * np.sign(row[block][:, None] - row[down])
            won[seed] += wins.sum()
            pairs += np.add.reduceat(np.add.reduceat(wins, down_first, axis=1), up_first, axis=0)
        # A resample repeats a pair of turns as often as it drew the one's session times the other's.
        replicates += ((counts[:, down_sessions] @ pairs.T) * counts[:, up_sessions]).sum(axis=1)
    both = [counts @ np.bincount(session[side], minlength=len(names)) for side in (up, down)]
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates /= len(values) * both[0] * both[1]
    return BootstrapResult(won / (len(up) * len(down)), replicates, len(names))
