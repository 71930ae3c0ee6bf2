"""Compare decompositions and reward models on held-out sessions.

Twenty conversations of two turns each, and a reward model that gives each turn half of the score:

>>> from apportion.corpus.schema import EPISODE_KEY, REWARDS, SPLITS
>>> from apportion.corpus.session import Rating, Turn
>>> turns = (Turn(0, "bob", "Hello."), Turn(1, "ann", "Hi."), Turn(2, "bob", "Bye."))
>>> ratings = [Rating("ann", "bob", "liking", 1.0 + number % 5, 1.0, 5.0) for number in range(20)]
>>> episodes = [Episode(f"s{number:02}", turns, rating) for number, rating in enumerate(ratings)]
>>> rows = [
...     dict(zip(EPISODE_KEY, e.key)) | {"turn": turn, "method": "half", "seed": 0, "reward": e.score / 2}
...     for e in episodes
...     for turn in e.target_turns
... ]
>>> scores = pa.Table.from_pylist(rows, schema=REWARDS.arrow)
>>> splits = pa.table([[e.session_id for e in episodes], ["train", "test"] * 10], schema=SPLITS.arrow)
>>> values = MethodValues(scores, rewards=scores[:0], offsets={"half": 0.0})
>>> evaluation = evaluate(values, SplitEpisodes(episodes, splits), Evidence(), EvaluationSettings())
>>> evaluation.reward_models[0].method, evaluation.reward_models[0].global_loss.value
('half', 0.0)
>>> from apportion.evaluation.table import render
>>> render(evaluation).splitlines()[0]
'Reward models and baselines: 10 test sessions'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.annotators import peoples_labels
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.evaluation.confidence_intervals.bootstrap import Missing, difference
from apportion.evaluation.evaluation import Evaluation, HeldOutCounts, MethodFigures, PairedDifference
from apportion.evaluation.figures.consistency import consistency
from apportion.evaluation.inputs import Evidence, MethodRemarks, MethodValues, rests_on
from apportion.evaluation.methods import baselines
from apportion.evaluation.methods.computed_labels import computed_agreements
from apportion.evaluation.methods.controls import Controls
from apportion.evaluation.methods.method_comparison import Figures, MethodComparison
from apportion.evaluation.methods.warnings import cautions, not_told_apart
from apportion.evaluation.references.test_set import AlignedValues, TestSet, align
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError

THE_MEAN = Missing("it is the Mean baseline")
COMPARED = ("global_loss", "local_difference", "spearman", "auc")


@dataclass(frozen=True, eq=False)
class _Ground:
    """What all methods are judged on, and the training scores that constant predictions know."""

    held: TestSet
    seen: Evidence
    settings: EvaluationSettings
    training: Sequence[float]

    def bench(self, values: pa.Table) -> MethodComparison:
        """For the methods of ``values``, on the turns that all of them have values for."""
        return MethodComparison.of(AlignedValues.of(values, self.held), self.seen, self.settings)


@dataclass(frozen=True)
class _Group:
    """Methods on their common turns, and the figures of each and of the constant predictions beside them."""

    bench: MethodComparison
    methods: Mapping[str, Figures]
    baselines: Mapping[str, Figures]

    @property
    def mean(self) -> Figures:
        return self.baselines[baselines.MEAN]

    def compared(self, among: str, own_units: Collection[str]) -> list[PairedDifference]:
        return _compare(self.bench, among, {**self.methods, **self.baselines}, own_units)


def evaluate(
    values: MethodValues,
    episodes: SplitEpisodes,
    evidence: Evidence,
    settings: EvaluationSettings,
    remarks: MethodRemarks | None = None,
) -> Evaluation:
    """Every figure of every method on the test split, with intervals, baselines and paired comparisons.

    Methods are compared on the test episodes that all of them have values for; several seeds of a method are
    averaged, and their spread is reported.

    ``episodes``: All episodes of one rating; ``train`` gives the baselines, ``test`` is what is compared. Raises
    InputError: No test or no training episode, episodes of several ratings, a reward model without an offset, two
    rewards for one turn, ``happiness_source = "mode"`` with features and no frames.
    """
    remarks = remarks or MethodRemarks()
    rating = _one_rating(episodes.all)
    test, training = _of_split(episodes, "test"), _of_split(episodes, "train")
    held = TestSet.of(test)
    if not held.episodes:
        raise InputError(f"no target utterance in any of the {len(test)} test episodes. Check `target` in ratings.")
    ground = _Ground(held, _by_people(evidence), settings, [episode.score for episode in training])
    models, divided = _reward_models(values, ground), _everywhere(values, remarks.partial, ground)
    controls = Controls.of(models.bench, evidence)
    partial = [_alone(name, values, ground) for name in remarks.partial]
    scored, decomposed = models.bench.aligned, divided.bench.aligned
    summaries = [_summarise(bench, of, models.mean) for bench, of in ((divided.bench, divided.methods), *partial)]
    return Evaluation(
        rating=rating,
        counts=_counts(test, training, held, scored, decomposed),
        reward_models=tuple(
            controls.beside(row, values.scores) for row in _summarise(models.bench, models.methods, models.mean)
        ),
        controls=controls.agreements(),
        baselines=_summarise(models.bench, models.baselines, models.mean),
        decompositions=tuple(sorted(chain(*summaries), key=lambda row: row.method)),
        decomposition_baselines=_summarise(divided.bench, divided.baselines, divided.mean),
        comparisons=(
            *models.compared("reward_models", remarks.own_units),
            *(divided.compared("decompositions", remarks.own_units) if divided.methods else ()),
        ),
        faces=models.bench.face_counts(),
        agreement=models.bench.agreement_counts(),
        one_annotator=models.bench.one_annotator(),
        human=models.bench.human(),
        own_units=tuple(remarks.own_units),
        rests=rests_on(remarks.unjudged, remarks.unjudged_locally, training, test),
        notes=tuple(remarks.notes),
        warnings=cautions(held, scored, decomposed),
        findings=not_told_apart(_without(models.methods, remarks.own_units), models.mean, settings),
        settings=settings,
        consistency=() if values.samples is None else consistency(values.samples),
        computed=computed_agreements(
            evidence.turn_labels, scored, (decomposed, *(bench.aligned for bench, _ in partial)), settings
        ),
    )


def _by_people(evidence: Evidence) -> Evidence:
    """The same with the labels of people alone: those that were computed are never averaged with them."""
    labels = evidence.turn_labels
    return replace(evidence, turn_labels=None if labels is None else peoples_labels(labels))


def _reward_models(values: MethodValues, ground: _Ground) -> _Group:
    bench = ground.bench(values.scores)
    return _Group(bench, _models(bench, values.offsets), _baselines(bench, bench.model, ground.training))


def _everywhere(values: MethodValues, partial: Sequence[str], ground: _Ground) -> _Group:
    """The decompositions but for ``partial`` ones, on their common episodes."""
    of_some = pc.is_in(values.rewards["method"], pa.array(partial, pa.string()))
    rewards = values.rewards.filter(pc.invert(of_some))
    bench = ground.bench(rewards)
    return _Group(bench, _decompositions(bench, rewards, values), _baselines(bench, bench.undivided, ground.training))


def _alone(name: str, values: MethodValues, ground: _Ground) -> tuple[MethodComparison, Mapping[str, Figures]]:
    """One that judged some episodes alone, on those: they are not the others'."""
    bench = ground.bench(values.rewards.filter(pc.field("method") == name))
    return bench, _decompositions(bench, values.rewards, values)


def _one_rating(episodes: Sequence[Episode]) -> str:
    names = sorted({episode.rating.name for episode in episodes})
    if len(names) > 1:
        raise InputError(f"episodes of several ratings ({', '.join(names)}): choose one with `rating`.")
    return names[0] if names else ""


def _of_split(episodes: SplitEpisodes, split: str) -> list[Episode]:
    in_split = episodes.of(split)
    if not in_split:
        raise InputError(
            f"no rated session is in the {split} split ({len(episodes.all)} rated in all). "
            f"Rate more sessions, or give the {split} split a larger share."
        )
    return in_split


def _models(bench: MethodComparison, offsets: Mapping[str, float]) -> dict[str, Figures]:
    values = bench.aligned.values
    if unknown := sorted(values.keys() - offsets.keys()):
        raise InputError(
            f"reward models without a score offset: {', '.join(unknown)}; "
            f"offsets are known of: {', '.join(sorted(offsets)) or 'none'}. "
            "Train them again; the offset is stored with the model."
        )
    return {method: bench.model(rows, offsets[method]) for method, rows in values.items()}


def _baselines(
    bench: MethodComparison, constant: Callable[[Floats, float], Figures], training: Sequence[float]
) -> dict[str, Figures]:
    """Mean, Mode and random rewards; ``constant`` gives the figures of a constant session prediction."""
    turns, settings = bench.aligned.held.turns, bench.settings
    nothing = baselines.no_rewards(turns)
    return {
        baselines.MEAN: constant(nothing, baselines.mean_score(training)),
        baselines.MODE: constant(nothing, baselines.mode_score(training)),
        baselines.RANDOM: bench.random(baselines.random_rewards(turns, settings.random_draws, settings.seed)),
    }


def _decompositions(bench: MethodComparison, rewards: pa.Table, told: MethodValues) -> dict[str, Figures]:
    raw = align(rewards, bench.aligned.held, "raw_reward")
    return {
        method: bench.decomposition(rows, raw[method], told.offsets.get(method), told.residuals.get(method))
        for method, rows in bench.aligned.values.items()
    }


def _summarise(bench: MethodComparison, methods: Mapping[str, Figures], mean: Figures) -> tuple[MethodFigures, ...]:
    result = []
    for method, sampled in sorted(methods.items()):
        loss = THE_MEAN if sampled is mean else difference(mean["global_loss"], sampled["global_loss"])
        figures = {name: bench.figure(figure) for name, figure in {**sampled, "below_mean": loss}.items()}
        seeds = len(bench.aligned.values.get(method, (0,)))  # a baseline is not trained
        result.append(MethodFigures(method=method, seeds=seeds, **figures))
    return tuple(result)


def _without(methods: Mapping[str, Figures], names: Collection[str]) -> Mapping[str, Figures]:
    return {name: figures for name, figures in methods.items() if name not in names}


def _compare(
    bench: MethodComparison, among: str, methods: Mapping[str, Figures], own_units: Collection[str]
) -> list[PairedDifference]:
    """Paired differences of every two methods in every figure that both have, in the same units."""
    differences: list[PairedDifference] = []
    for figure in COMPARED:
        constant = (*own_units, baselines.MEAN, baselines.MODE)  # A constant's local difference is 0: nothing to pair.
        compared = _without(methods, constant) if figure == "local_difference" else methods
        differences += bench.differences(among, compared, figure)
    return differences


def _counts(
    test: Sequence[Episode],
    training: Sequence[Episode],
    held: TestSet,
    scored: AlignedValues,
    decomposed: AlignedValues,
) -> HeldOutCounts:
    return HeldOutCounts(
        training_scores=len(training),
        test_sessions=len({episode.session_id for episode in test}),
        test_episodes=len(test),
        without_target_turns=len(test) - len(held.episodes),
        scored_sessions=len(scored.held.session_ids),
        scored_episodes=len(scored.held.episodes),
        decomposed_sessions=len(decomposed.held.session_ids),
        decomposed_episodes=len(decomposed.held.episodes),
    )
