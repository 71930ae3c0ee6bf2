"""Opinions on turns, weighed by how clearly each predicts scores, less what others tell already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.schema import HISTORY, SOURCES
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.ensembling.component import Component, agreement, standardised
from apportion.decompose.ensembling.predictiveness import FEWEST, SAMPLING, CrossValidatedR2, cross_validate
from apportion.decompose.reactions.model import FittedReactionModel, judged_turns
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.foundation.intervals.resampling import percentile_interval

EVEN = 0.1
"""The part of the weight that all sources that count share alike: scores tell that a source holds something more surely
than how much more than another, and a mix that leans to equal parts loses little where they err."""
DOUBT = 100
"""Judged dialogues after which a source is believed in one draw of two: as many as the scores below which a corpus is
warned that they cannot tell whether a prior holds."""
FORETELLS = "it foretells left-out scores"
SAID = "it foretells left-out scores, and others tell the same better"
TRUSTED = "it foretells left-out scores; judgements of turns taught it, so that it counts as what scores taught"
SHOWN = "it was shown the score, so that it counts as the best source that was not"
SHOWN_ALONE = "it was shown the score, and no source that was not foretells any"
EMPTY = "it foretells no left-out score: the interval holds zero"
AGAINST = "its larger values go with lower scores"
FEW = f"it knows fewer than {FEWEST} training sessions"
ROUTED = "the rating tells of quality, and this reads the rater's replies alone"
UNTAUGHT = "no source foretells scores clearly; those that learnt from none count by the little that they foretell"
TAUGHT = "no source foretells scores clearly, and it is learnt from these scores"
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

    - ``strengths`` (float64 [shape=(B, K)]): What each counts for by itself, on resamples of the sessions: its R^2 as
      far as it is believed, 0 for none.
    - ``alike`` (float64 [shape=(K, K)]): How far they agree within dialogues
      (`apportion.decompose.ensembling.component.agreement`).
    - ``evened`` (bool): Whether a part of the weight (`EVEN`) is shared alike by all that count.
    """

    sources: tuple[str, ...]
    predicted: tuple[CrossValidatedR2, ...]
    whys: tuple[str, ...]
    strengths: Floats
    alike: Floats
    evened: bool = True

    def of(self, known: Sequence[bool]) -> Floats:
        """The weights [shape=(K,)] in a dialogue of which these sources are known; all 0 where none counts.

        The mean over the resamples: what the best mix is where the evidence is thin depends on who was drawn.
        """
        weights: Floats = self._drawn(known).mean(axis=0)
        return weights / weights.sum() if weights.any() else weights

    @cached_property
    def weights(self) -> tuple[ComponentWeight, ...]:
        """Those of a dialogue that every source knows."""
        everything = [True] * len(self.sources)
        taken = self.of(everything)
        ends = [percentile_interval(column, SAMPLING.confidence) for column in self._drawn(everything).T]
        whys = [SAID if why in (FORETELLS, TRUSTED) and not w else why for why, w in zip(self.whys, taken, strict=True)]
        rows = zip(self.sources, taken, ends, self.predicted, whys, strict=True)
        return tuple(ComponentWeight(name, float(w), low, high, of, why) for name, w, (low, high), of, why in rows)

    def _drawn(self, known: Sequence[bool]) -> Floats:
        distinct, place = np.unique(np.where(known, self.strengths, 0.0), axis=0, return_inverse=True)
        drawn = shares(self.alike, distinct)[place.ravel()]
        counted = self.strengths.any(axis=0) & np.array(known)
        if not self.evened or not counted.any():
            return drawn
        evened: Floats = (1 - EVEN) * drawn + EVEN * counted / counted.sum()
        return evened


def weigh(
    sources: Sequence[Component],
    training: Sequence[Episode],
    *,
    of_quality: bool = False,
    given: Mapping[str, float] | None = None,
) -> StackingWeights:
    """How far each source is to be believed. Turn labels are not an argument.

    A source counts for its R^2 of left-out training scores as far as that lies clearly above zero
    (`CrossValidatedR2.kept`). One that judgements of the turns of n dialogues taught counts for no less than the
    strongest that this corpus's scores taught, as far as its own R^2 is believed, in n / (n + 100) of the resamples,
    and for nothing in the others. One that was shown the score foretells it whatever it knows of the turns: it counts
    as the strongest that was not. Where no source foretells anything clearly, those that learnt from none of these
    scores count by the little that they foretell, and alike where that is nothing.

    - ``training`` (sequence of Episode): Whose scores decide.
    - ``of_quality`` (bool): Whether the rating tells of quality: what reads replies alone counts for nothing then.
    - ``given`` (mapping of str to float, optional): Weights by source that are taken as they are; a source that it does
      not name has none.
    """
    found = cross_validate(sources, training)
    names = tuple(source.name for source in sources)
    if given is not None:
        taken = [given.get(name, 0.0) for name in names]
        return StackingWeights(
            names, tuple(found), (GIVEN,) * len(names), _alike_in_all(taken), np.eye(len(names)), False
        )
    whys = [_why(source, of, of_quality) for source, of in zip(sources, found, strict=True)]
    strengths = np.stack([np.nan_to_num(np.maximum(0.0, of.draws)) * of.kept for of in found], axis=1)
    shown, honest = (np.array([why == kind for why in whys]) for kind in (SHOWN, FORETELLS))
    strengths[:, ~(shown | honest)] = 0.0
    if honest.any():
        strengths = _trusting_judgements(sources, found, honest, strengths)
        whys = [TRUSTED if of and s.dialogues_judged else w for s, of, w in zip(sources, honest, whys, strict=True)]
        strengths[:, shown] = strengths[:, honest].max(axis=1, keepdims=True)
    elif shown.any():
        whys = [SHOWN_ALONE if why == SHOWN else why for why in whys]
    else:
        free = [source.left_out is None and why != ROUTED for source, why in zip(sources, whys, strict=True)]
        whys = [why if why == ROUTED else UNTAUGHT if of else TAUGHT for why, of in zip(whys, free, strict=True)]
        return StackingWeights(names, tuple(found), tuple(whys), _doubtful(found, free), agreement(sources), False)
    return StackingWeights(names, tuple(found), tuple(whys), strengths, agreement(sources))


def shares(alike: Floats, strengths: Floats) -> Floats:
    """The w >= 0 that minimise w' C w / 2 - s' w, brought to a sum of 1, for each s [shape=(K, K), (B, K) -> (B, K)].

    What would be the best linear mix if s were the sources' correlations with the truth: what two of them share is
    counted once. All 0 where no strength is above 0.
    """
    weights = np.zeros_like(strengths)
    for counted in np.unique(strengths > 0, axis=0):
        if counted.any():
            rows = ((strengths > 0) == counted).all(axis=1)
            weights[np.ix_(rows, counted)] = _best(alike[np.ix_(counted, counted)], strengths[np.ix_(rows, counted)])
    return weights


def _best(alike: Floats, strengths: Floats) -> Floats:
    """`shares` where every strength is above 0."""
    from scipy.optimize import nnls

    lower = np.linalg.cholesky(alike)
    weights = np.linalg.solve(alike, strengths.T).T
    # Where nothing is below 0, what is best without that bound is best with it.
    for row in np.flatnonzero((weights < 0).any(axis=1)):
        weights[row], _ = nnls(lower.T, np.linalg.solve(lower, strengths[row]))
    best: Floats = weights / weights.sum(axis=1, keepdims=True)
    return best


def _trusting_judgements(
    sources: Sequence[Component], found: Sequence[CrossValidatedR2], honest: NDArray[np.bool_], strengths: Floats
) -> Floats:
    """The strengths; of what judgements of turns taught at least those of what scores taught, in draws that trust it.

    Scores are what the latter learnt to foretell. Of the former they tell surely whether it holds, and too little how
    much.
    """
    by_scores = [source.left_out is not None and source.reads_replies for source in sources]
    floor = strengths[:, by_scores].max(axis=1, initial=0.0)
    trusting, rng = strengths.copy(), np.random.default_rng(SAMPLING.seed)
    for place, (source, of) in enumerate(zip(sources, found, strict=True)):
        if honest[place] and source.dialogues_judged:
            share = source.dialogues_judged / (source.dialogues_judged + DOUBT)
            believed = rng.permutation(len(floor)) < share * len(floor)
            trusting[:, place] = np.where(believed, np.maximum(strengths[:, place], of.kept * floor), 0.0)
    # What is all that there is needs no trust.
    return np.where(trusting.any(axis=1, keepdims=True), trusting, strengths)


def _doubtful(found: Sequence[CrossValidatedR2], free: Sequence[bool]) -> Floats:
    """The strengths of sources that learnt from no score, where none is clear: what each resample leaves above zero."""
    counted = np.array([is_free and not of.against for is_free, of in zip(free, found, strict=True)])
    drawn = np.nan_to_num(np.maximum(0.0, np.stack([of.draws for of in found], axis=1)))
    strengths: Floats = np.where(counted, drawn, 0.0)
    # Where all is noise, a resample's smallest rest is no reason to prefer anybody.
    if not any(of.explained > 0 for of, is_counted in zip(found, counted, strict=True) if is_counted):
        return _alike_in_all([float(is_free) for is_free in free])
    return strengths


def _alike_in_all(strengths: Sequence[float]) -> Floats:
    return np.repeat(np.array([strengths]), SAMPLING.resamples, axis=0)


def _why(source: Component, of: CrossValidatedR2, of_quality: bool) -> str:
    if of_quality and source.reads_replies:
        return ROUTED
    if of.sessions < FEWEST:
        return FEW
    if of.clear:
        return SHOWN if source.shown_score else FORETELLS
    return AGAINST if of.told else EMPTY


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
    weighing = weigh(sources, episodes.of("train"), of_quality=of_quality, given=given)
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
