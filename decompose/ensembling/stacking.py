"""Opinions on turns: those that need no score are the prior, which what scores taught moves as far as they carry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.schema import HISTORY, SOURCES
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.ensembling.component import Component, standardised
from apportion.decompose.ensembling.predictiveness import SAMPLING, CrossValidatedR2, chance_against, cross_validate
from apportion.decompose.reactions.model import FittedReactionModel, judged_turns
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.foundation.intervals.resampling import drawn_sums, percentile_interval

REVERSED_BEFORE = 0.05
"""How likely it is before any score is seen that a source that needs none goes the wrong way here."""
NEEDS_NONE = "it needs no score of this corpus"
REVERSED = "it needs no score of this corpus, and is held back: its larger values go with lower scores"
SHOWN = "it was shown the score, so that scores cannot say whether it holds"
SETTLED = "these scores settle {settled:.0%} of what turns are worth; agreement with what needs no score {agreed:.2f}"
HELD_BACK = SETTLED + ", too little, so that it is held back"
ALONE = "these scores settle {settled:.0%} of what turns are worth, and nothing else goes with them"
LABELLED = "people's labels of {sessions} sessions give it this share beside the mix of all others"
ROUTED = "the rating tells of quality, and this reads the rater's replies alone"
GIVEN = "set in the configuration"


@dataclass(frozen=True)
class ComponentWeight:
    """What a source weighs where all are known, from 0 to 1, with its interval by resampling sessions, and why."""

    source: str
    weight: float
    low: float | None
    high: float | None
    predicted: CrossValidatedR2
    why: str


@dataclass(frozen=True, eq=False)
class StackingWeights:
    """What is known of the sources before any dialogue is looked at.

    - ``free`` (bool [shape=(K,)]): Which need no score of the corpus; together they are the prior.
    - ``trust``, ``goes`` (float64 [shape=(K,)]): How far those are believed beside each other, and how sure it is that
      they do not go against the scores; 0 for none.
    - ``labelled`` (float64 [shape=(1 + B, K)]): The share that people's labels give to what they taught, beside the mix
      of all others; 0 for those others.
    - ``settled``, ``agreed`` (float64 [shape=(1 + B, K)]): Of those that scores taught the share of the turns' worth
      that the scores settle, and the correlation within dialogues with the prior; in the rows below the first as drawn.
    """

    sources: tuple[str, ...]
    predicted: tuple[CrossValidatedR2, ...]
    whys: tuple[str, ...]
    free: NDArray[np.bool_]
    trust: Floats
    goes: Floats
    settled: Floats
    agreed: Floats
    labelled: Floats

    def of(self, known: Sequence[bool]) -> Floats:
        """The weights [shape=(K,)] in a dialogue of which these sources are known; all 0 where none counts."""
        weights: Floats = self._drawn(known, slice(1))[0]
        return weights

    @cached_property
    def weights(self) -> tuple[ComponentWeight, ...]:
        """Those of a dialogue that every source knows."""
        taken, *drawn = self._drawn([True] * len(self.sources), slice(None))
        ends = []
        for weight, column in zip(taken, np.array(drawn).T, strict=True):
            low, high = percentile_interval(column, SAMPLING.confidence)
            ends.append((low and min(low, float(weight)), high and max(high, float(weight))))
        rows = zip(self.sources, taken, ends, self.predicted, self.whys, strict=True)
        return tuple(ComponentWeight(name, float(w), low, high, of, why) for name, w, (low, high), of, why in rows)

    def to_json(self) -> dict[str, Any]:
        """What `of` rests on, as plain JSON values: the first rows, and whether people's labels taught a source."""
        rows = {"settled": self.settled[:1], "agreed": self.agreed[:1]}
        rows["labelled"] = np.stack([self.labelled[0], self.labelled.any(axis=0)])
        rows |= {name: getattr(self, name) for name in ("free", "trust", "goes")}
        return {"sources": list(self.sources), **{name: values.tolist() for name, values in rows.items()}}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> StackingWeights:
        """By which `of` gives what it gave; the figures and reasons are not kept."""
        arrays = {name: np.array(values) for name, values in told.items() if name != "sources"}
        return cls(tuple(told["sources"]), (), (), **arrays)

    def _drawn(self, known: Sequence[bool], rows: slice) -> Floats:
        there = np.array(known, dtype=np.float64)
        goes = self.goes * there
        prior = goes.max(initial=0.0)
        settled = self.settled[rows] * there
        # Without a prior there is nothing to disagree with.
        agreed = 1 - prior * (1 - np.maximum(0.0, self.agreed[rows]))
        moved = np.minimum(settled, np.square(agreed))
        moved = np.where(self.free, 0.0, moved / (1 - np.minimum(moved, 0.999)))
        missing = np.where(self.free, 0.0, np.sqrt(settled) - agreed).max(axis=1, initial=0.0)[:, None]
        # Where teaching elsewhere does not hold, what is left is what needed none.
        free = ((1 - missing) * self.trust + missing * (1 - self.trust)) * goes
        weights = moved + prior * free / np.maximum(free.sum(axis=1, keepdims=True), 1e-300)
        total = weights.sum(axis=1, keepdims=True)
        # What people taught stands alone where nothing else is known.
        share = np.where(total > 0, self.labelled[rows], self.labelled.any(axis=0)) * there
        shared: Floats = (1 - share.sum(axis=1, keepdims=True)) * weights / np.maximum(total, 1e-300) + share
        return shared


def weigh(
    sources: Sequence[Component],
    training: Sequence[Episode],
    *,
    of_quality: bool = False,
    given: Mapping[str, float] | None = None,
    episodes: Sequence[Episode] = (),
) -> StackingWeights:
    """How far each source is to be believed. Turn labels are not an argument.

    Empirical Bayes (Morris, 1983): what needs no score of this corpus is the prior, and what its scores taught moves
    that by the share Z of the turns' worth that they settle: Z = 0 without scores, and nears 1 with ever more of them.

    - Sources of the prior share it by their `Component.trust`. One that goes against the scores loses its part by the
      chance that it does (`apportion.decompose.ensembling.predictiveness.chance_against`).
    - Of a source with the reliability Z the correlation c with another is at most sqrt(Z) (Spearman, 1904). So a taught
      one weighs min(Z, c^2), with c its agreement with the prior: what scores teach against all that is known of
      reactions is held back. The missing sqrt(Z) - c is the doubt in what was taught elsewhere: in this share of the
      prior, sources that nobody taught count in its place.
    - People's labels of training sessions are the truth of their turns. They give the source that they taught the share
      of a regression of labels on it and on the mix of all others, both at least 0, in distances within the dialogue
      (Breiman, 1996, Stacked regressions): its values there are of a student that had not read the session's labels.
      By its variance over resampled sessions it shrinks: times share^2 / (share^2 + variance), as Morris has it.

    - ``training`` (sequence of Episode): Whose scores decide.
    - ``of_quality`` (bool): Whether the rating tells of quality: what reads replies alone counts for nothing then, if
      there is anything else.
    - ``given`` (mapping of str to float, optional): Weights by source that are taken as they are; a source that it does
      not name has none.
    - ``episodes`` (sequence of Episode): Where agreement is looked at; scores of these are not read. The training ones
      without it.
    """
    names, predicted = tuple(source.name for source in sources), tuple(cross_validate(sources, training))
    if given is not None:
        taken = np.array([given.get(name, 0.0) for name in names])
        none, nothing = np.zeros((1 + SAMPLING.resamples, len(names))), (GIVEN,) * len(names)
        everyone = np.ones(len(names), dtype=np.bool_)
        return StackingWeights(
            names, predicted, nothing, everyone, taken / max(1e-300, taken.max()), np.sign(taken), none, none, none
        )
    by_people = np.array([bool(source.labels) or source.lacking is not None for source in sources], dtype=np.bool_)
    counted = np.array([not (of_quality and source.reads_replies) for source in sources], dtype=np.bool_)
    routed = ~counted & counted.any() & ~by_people
    free = np.array([source.learnt is None for source in sources], dtype=np.bool_) & ~by_people
    against = np.array([0.0 if s.shown_score else chance_against(s, training) for s in sources])
    right = (1 - against) / (1 - against + REVERSED_BEFORE * (2 * against - 1))
    goes = np.where(free & ~routed, np.minimum(1.0, right), 0.0)
    trust = np.where(free, np.maximum([source.trust for source in sources], 1e-9), 0.0)
    settled = np.stack([_settled(source) for source in sources], axis=1) * ~routed
    agreed = _agreements(sources, trust * goes, episodes or training)
    whys = tuple(
        ROUTED if routed[k] else _why(source, settled[0, k], agreed[0, k], goes[k], goes.max())
        for k, source in enumerate(sources)
    )
    others = StackingWeights(names, predicted, whys, free, trust, goes, settled, agreed, np.zeros_like(settled))
    labelled = np.stack([_share_by_labels(place, sources, others, episodes or training) for place in range(len(names))])
    return replace(others, labelled=labelled.T)


def _share_by_labels(
    place: int, sources: Sequence[Component], others: StackingWeights, episodes: Sequence[Episode]
) -> Floats:
    """What people's labels give to the source at ``place`` that they taught: of all, and on resamples of the sessions
    [shape=(1 + B,)]; 0 where they taught none."""
    source, weights_of = sources[place], cache(others.of)
    sums: dict[str, Floats] = {}
    for episode in (episode for episode in episodes if episode.key in source.labels):
        labels = source.labels[episode.key]
        told = np.where(np.isfinite(labels))[0]
        found = (mixed(sources, weights_of, episode), source.values[episode.key], labels)
        mix, own, said = (standardised(values[told]) for values in found)
        products = np.array([mix @ mix, mix @ own, own @ own, mix @ said, own @ said])
        sums[episode.session_id] = sums.get(episode.session_id, 0.0) + products
    if not sums:
        return np.zeros(1 + SAMPLING.resamples)
    drawn = drawn_sums(np.array(list(sums.values())), SAMPLING, whole=True)
    mixes, both, owns, mix_said, own_said = drawn.T
    # Times the determinant, which cancels; where one of the two would be below 0, it is 0 and the other stands alone.
    of_mix, of_own = (
        np.maximum(0.0, part) for part in (owns * mix_said - both * own_said, mixes * own_said - both * mix_said)
    )
    if not mixes.any():
        return np.where(own_said > 0, 1.0, 0.0)
    share: Floats = of_own / np.maximum(of_mix + of_own, 1e-300) * (own_said > 0)
    # What the labels say of it beside the mix, in units of how far that varies with the sessions (James and Stein).
    beside = of_own / np.maximum(mixes * owns - both**2, 1e-12 * np.maximum(mixes * owns, 1.0))
    squared, varies = beside[0] ** 2, beside[1:].var() * len(sums) / max(1, len(sums) - 1)
    shrunk: Floats = share * (squared / max(squared + varies, 1e-300))
    return shrunk


def _settled(source: Component) -> Floats:
    """What scores settle, on average and in draws of how much a worth may vary [shape=(1 + B,)]."""
    if source.learnt is None:
        return np.zeros(1 + SAMPLING.resamples)
    shares, likely = source.learnt.settled, source.learnt.likely
    drawn = np.random.default_rng(SAMPLING.seed).choice(shares, SAMPLING.resamples, p=likely)
    return np.concatenate([[shares @ likely], drawn])


def _agreements(sources: Sequence[Component], trust: Floats, episodes: Sequence[Episode]) -> Floats:
    """The correlation within dialogues of each source that scores taught with the mean of the others, weighed by
    ``trust`` [shape=(K,)]: of all, and on resamples of the dialogues [shape=(1 + B, K)]."""
    found = np.zeros((1 + SAMPLING.resamples, len(sources)))
    prior = [mixed(sources, lambda _: trust, episode) for episode in episodes]
    for place, source in enumerate(sources):
        if source.learnt is None:
            continue
        sums = np.zeros((max(1, len(episodes)), 3))
        for row, (episode, others) in enumerate(zip(episodes, prior, strict=True)):
            if source.knows(episode.key):
                own, theirs = standardised(source.values[episode.key]), np.nan_to_num(others)
                if own.any() and theirs.any():
                    sums[row] = own @ theirs, own @ own, theirs @ theirs
        products = drawn_sums(sums, SAMPLING, whole=True)
        found[:, place] = products[:, 0] / np.sqrt(np.maximum(products[:, 1] * products[:, 2], 1e-300))
    return found


def _why(source: Component, settled: float, agreed: float, goes: float, prior: float) -> str:
    if source.lacking is not None:
        return source.lacking
    if source.labels:
        return LABELLED.format(sessions=len({key[0] for key in source.labels}))
    if source.learnt is None:
        return SHOWN if source.shown_score else NEEDS_NONE if goes > 0.5 else REVERSED
    told = ALONE if prior <= 0.5 else SETTLED if agreed > math.sqrt(settled) / 2 else HELD_BACK
    return told.format(settled=settled, agreed=agreed)


WeightsOf = Callable[[tuple[bool, ...]], Floats]
"""From which of the K sources are known in a dialogue to what each weighs there [shape=(K,)]."""


def mix(
    method: str,
    episodes: SplitEpisodes,
    sources: Sequence[Component],
    seed: int,
    *,
    of_quality: bool = False,
    given: Mapping[str, float] | None = None,
) -> FittedReactionModel:
    """Put the sources together, each as far as it is to be believed (`apportion.decompose.ensembling.stacking.weigh`).

    raw_t = sum_k w_k z(v_kt), with v_k what source k says of a turn, and z the distance from the dialogue's mean in its
    standard deviations: 0 where all its turns are alike, and for a turn without a value. In a dialogue that a source
    does not know, the others are weighed without it. Turn labels are not an argument.

    - ``episodes``: The scores of ``train`` decide the weights.
    - ``seed``: Written into the tables; every seed gives the same values.

    Returns judgements in standard deviations, null for a turn that no source with a weight knows; in the history each
    source's weight and R^2; in ``sources`` (schema SOURCES) also their intervals and reasons.

    Raises UnitError: No source knows any episode.
    """
    if not any(source.knows(episode.key) for source in sources for episode in episodes.all):
        raise UnitError(
            f"method {method!r}: no source ({', '.join(s.name for s in sources) or 'none'}) knows any session. Look in "
            "the quarantine table for what became of them."
        )
    weighing = weigh(sources, episodes.of("train"), of_quality=of_quality, given=given, episodes=episodes.all)
    # A corpus has few patterns of what is known, and each is weighed by itself.
    weights_of = cache(weighing.of)
    values = np.concatenate([mixed(sources, weights_of, episode) for episode in episodes.all])
    figures = [
        {"step": 1, "metric": f"{what} of {of.source}", "value": value}
        for of in weighing.weights
        for what, value in (("weight", of.weight), ("R^2", of.predicted.explained))
    ]
    return FittedReactionModel(
        judged_turns(method, seed, episodes.all, values),
        pa.Table.from_pylist(figures, schema=HISTORY.arrow),
        _table(method, seed, weighing.weights),
        {"weights": weighing.to_json(), "worths": {s.name: s.worth.to_json() for s in sources if s.worth is not None}},
    )


def mixed(sources: Sequence[Component], weights_of: WeightsOf, episode: Episode) -> Floats:
    """raw_t of each target turn [shape=(T,)], NaN where no source with a weight knows it."""
    known = tuple(source.knows(episode.key) for source in sources)
    values = np.zeros(len(episode.target_turns))
    told = np.zeros(len(values), dtype=np.bool_)
    if not any(known):
        return np.full(len(values), np.nan)
    for source, weight, is_known in zip(sources, weights_of(known), known, strict=True):
        if is_known and weight > 0:
            values += weight * standardised(source.values[episode.key])
            told |= np.isfinite(source.values[episode.key])
    return np.where(told, values, np.nan)


def _table(method: str, seed: int, weights: Sequence[ComponentWeight]) -> pa.Table:
    rows = []
    for of in weights:
        low, high = of.predicted.interval
        rows.append({
            "method": method, "seed": seed, "source": of.source, "weight": of.weight, "low": of.low, "high": of.high,
            "explained": of.predicted.explained, "explained_low": low, "explained_high": high,
            "sessions": of.predicted.sessions, "reason": of.why,
        })  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SOURCES.arrow)
