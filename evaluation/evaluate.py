"""Compare decompositions and reward models on held-out sessions.

Twenty conversations of two turns each, and a reward model that gives each turn half of the score:

>>> from corpus.schema import EPISODE_KEY, REWARDS, SPLITS
>>> from corpus.session import Rating, Turn
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
>>> evaluation = evaluate(scores, scores[:0], {"half": 0.0}, episodes, splits, None, None, EvaluationSettings())
>>> evaluation.reward_models[0].method, evaluation.reward_models[0].global_loss.value
('half', 0.0)
>>> from evaluation.table import render
>>> render(evaluation).splitlines()[0]
'Reward models and baselines: 10 test sessions'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus.labellers import peoples_labels
from corpus.session import Episode
from corpus.splitting.splits import sessions_in
from evaluation import baselines
from evaluation.bench import Bench, Figures
from evaluation.bootstrap import Sampled, paired_difference
from evaluation.caution import cautions
from evaluation.computed import computed_agreements
from evaluation.evaluation import Evaluation, HeldOutCounts, MethodFigures, PairedDifference
from evaluation.figure import Estimate, Missing
from evaluation.figures.consistency import consistency
from evaluation.figures.sum_residual import Residuals
from evaluation.held_out import AlignedValues, HeldOut, align
from evaluation.rests import Unjudged, rests_on
from evaluation.settings import EvaluationSettings
from foundation.arrays import Floats
from foundation.errors import InputError

THE_MEAN = Missing("it is the Mean baseline")
NOTHING: Mapping[str, Any] = MappingProxyType({})
COMPARED = ("global_loss", "local_difference", "spearman", "auc")


def evaluate(
    scores: pa.Table,
    rewards: pa.Table,
    offsets: Mapping[str, float],
    episodes: Sequence[Episode],
    splits: pa.Table,
    utterance_features: pa.Table | None,
    turn_labels: pa.Table | None,
    settings: EvaluationSettings,
    samples: pa.Table | None = None,
    frames: pa.Table | None = None,
    own_units: Collection[str] = (),
    notes: Sequence[str] = (),
    unjudged: Unjudged = NOTHING,
    unjudged_locally: Unjudged = NOTHING,
    residuals: Residuals = NOTHING,
) -> Evaluation:
    """Every figure of every method on the test split, with intervals, baselines and paired comparisons.

    Methods are compared on the test episodes that all of them have values for; several seeds of a method are
    averaged, and their spread is reported.

    Parameters
    ----------
    scores : pa.Table
        REWARDS schema: ``reward`` is a reward model's r_theta(s_t, a_t); ``method`` is what it was taught by.
    rewards : pa.Table
        REWARDS schema: the decompositions themselves, projected onto the score.
    offsets : mapping of str to float
        Method to what its reward model adds to a session's summed rewards (the training mean, or 0).
    episodes : Sequence of Episode
        All episodes of one rating, of all splits.
    splits : pa.Table
        SPLITS schema; ``train`` gives the baselines, ``test`` is what is compared.
    utterance_features : pa.Table or None
        For the local difference; None without recordings.
    turn_labels : pa.Table or None
        For the agreement with people and, apart from it, with what was computed; None where there are none.
    samples : pa.Table or None
        SAMPLES schema, of all splits; None where no method was asked more than once.
    frames : pa.Table or None
        FRAMES schema, for the local difference by the most probable emotion (``settings.happy_by = "mode"``).
    own_units : collection of str
        Methods whose rewards are in units of their own: they are never called the best, and their local difference is
        compared with none.
    notes : Sequence of str
        Sentences about the methods that are to stand below the tables.
    unjudged, unjudged_locally : mapping of str to collection of EpisodeKey
        Episodes that gave a method, or the local part of its objective, nothing to judge by: they are no failure, and
        the other methods are compared on them all the same.
    residuals : mapping of str to sequence of mapping
        What is missing from the sums of a method's own values, one mapping a seed, as the projection tells it: it alone
        knows what a null counts as, and what a prompt was asked to hand out. Found from the values where it is not
        given.

    Raises
    ------
    InputError
        No test or no training episode, episodes of several ratings, a reward model without an offset, two rewards
        for one turn, ``happy_by = "mode"`` with features and no frames.
    """
    rating = _one_rating(episodes)
    test, training = _of_split(episodes, splits, "test"), _of_split(episodes, splits, "train")
    held = HeldOut.of(test)
    if not held.episodes:
        raise InputError(f"no target utterance in any of the {len(test)} test episodes. Check `target` in ratings.")
    judged = None if turn_labels is None else peoples_labels(turn_labels)
    rests = rests_on(unjudged, unjudged_locally, training, test)
    partial = [name for name, episodes_ in unjudged.items() if episodes_]
    of_some = pc.is_in(rewards["method"], pa.array(partial, pa.string()))
    everywhere = rewards.filter(pc.invert(of_some))
    scored, decomposed = AlignedValues.of(scores, held), AlignedValues.of(everywhere, held)
    bench = Bench.of(scored, utterance_features, judged, settings, frames)
    models = _models(bench, offsets)
    known = [episode.score for episode in training]
    constant = _baselines(bench, bench.model, known)
    of_decomposers = Bench.of(decomposed, utterance_features, judged, settings, frames)
    decomposers = _decompositions(of_decomposers, align(everywhere, decomposed.held, "raw_reward"), offsets, residuals)
    decompositions = list(_summarise(of_decomposers, decomposers, constant[baselines.MEAN]))
    of_some_alone = [AlignedValues.of(rewards.filter(pc.field("method") == name), held) for name in partial]
    for own in of_some_alone:  # On the episodes that each could judge, which are not the others'.
        alone = Bench.of(own, utterance_features, judged, settings, frames)
        figures = _decompositions(alone, align(rewards, own.held, "raw_reward"), offsets, residuals)
        decompositions += _summarise(alone, figures, constant[baselines.MEAN])
    undivided = _baselines(of_decomposers, of_decomposers.undivided, known)
    return Evaluation(
        rating=rating,
        counts=_counts(test, training, held, scored, decomposed),
        reward_models=_summarise(bench, models, constant[baselines.MEAN]),
        baselines=_summarise(bench, constant, constant[baselines.MEAN]),
        decompositions=tuple(sorted(decompositions, key=lambda row: row.method)),
        decomposition_baselines=_summarise(of_decomposers, undivided, undivided[baselines.MEAN]),
        comparisons=(
            *_compare(bench, "reward_models", {**models, **constant}, own_units),
            *_compare(bench, "decompositions", {**decomposers, **undivided} if decomposers else {}, own_units),
        ),
        faces=bench.face_counts(),
        agreement=bench.agreement_counts(),
        one_annotator=bench.one_annotator(),
        human=bench.human(),
        own_units=tuple(own_units),
        rests=rests,
        notes=tuple(notes),
        warnings=cautions(held, scored, decomposed, _without(models, own_units), constant[baselines.MEAN], settings),
        settings=settings,
        consistency=() if samples is None else consistency(samples),
        computed=computed_agreements(turn_labels, scored, (decomposed, *of_some_alone), settings),
    )


def _one_rating(episodes: Sequence[Episode]) -> str:
    names = sorted({episode.rating.name for episode in episodes})
    if len(names) > 1:
        raise InputError(f"episodes of several ratings ({', '.join(names)}): choose one with `rating`.")
    return names[0] if names else ""


def _of_split(episodes: Sequence[Episode], splits: pa.Table, split: str) -> list[Episode]:
    session_ids = sessions_in(splits, split)
    in_split = [episode for episode in episodes if episode.session_id in session_ids]
    if not in_split:
        raise InputError(
            f"no rated session is in the {split} split ({len(episodes)} rated in all). "
            f"Rate more sessions, or give the {split} split a larger share."
        )
    return in_split


def _models(bench: Bench, offsets: Mapping[str, float]) -> dict[str, Figures]:
    values = bench.aligned.values
    if unknown := sorted(values.keys() - offsets.keys()):
        raise InputError(
            f"reward models without a score offset: {', '.join(unknown)}; "
            f"offsets are known of: {', '.join(sorted(offsets)) or 'none'}. "
            "Train them again; the offset is stored with the model."
        )
    return {method: bench.model(rows, offsets[method]) for method, rows in values.items()}


def _baselines(
    bench: Bench, constant: Callable[[Floats, float], Figures], training: Sequence[float]
) -> dict[str, Figures]:
    """Mean, Mode and random rewards; ``constant`` gives the figures of a constant session prediction."""
    turns, settings = bench.aligned.held.turns, bench.settings
    nothing = baselines.no_rewards(turns)
    return {
        baselines.MEAN: constant(nothing, baselines.mean_score(training)),
        baselines.MODE: constant(nothing, baselines.mode_score(training)),
        baselines.RANDOM: bench.random(baselines.random_rewards(turns, settings.random_draws, settings.seed)),
    }


def _decompositions(
    bench: Bench, raw: Mapping[str, Floats], offsets: Mapping[str, float], residuals: Residuals
) -> dict[str, Figures]:
    return {
        method: bench.decomposition(rows, raw[method], offsets.get(method), residuals.get(method))
        for method, rows in bench.aligned.values.items()
    }


def _summarise(bench: Bench, methods: Mapping[str, Figures], mean: Figures) -> tuple[MethodFigures, ...]:
    result = []
    for method, sampled in sorted(methods.items()):
        loss = THE_MEAN if sampled is mean else _difference(mean["global_loss"], sampled["global_loss"])
        figures = {name: bench.figure(figure) for name, figure in {**sampled, "below_mean": loss}.items()}
        seeds = len(bench.aligned.values.get(method, (0,)))  # a baseline is not trained
        result.append(MethodFigures(method=method, seeds=seeds, **figures))
    return tuple(result)


def _without(methods: Mapping[str, Figures], names: Collection[str]) -> Mapping[str, Figures]:
    return {name: figures for name, figures in methods.items() if name not in names}


def _compare(
    bench: Bench, among: str, methods: Mapping[str, Figures], own_units: Collection[str]
) -> list[PairedDifference]:
    """Paired differences of every two methods in every figure that both have, in the same units."""
    differences = []
    for figure in COMPARED:
        compared = _without(methods, own_units) if figure == "local_difference" else methods
        for method, against in combinations(sorted(compared), 2):
            difference = bench.figure(_difference(methods[method][figure], methods[against][figure]))
            if isinstance(difference, Estimate):
                differences.append(PairedDifference(among, figure, method, against, difference))
    return differences


def _difference(left: Sampled | Missing, right: Sampled | Missing) -> Sampled | Missing:
    if isinstance(left, Missing):
        return left
    return right if isinstance(right, Missing) else paired_difference(left, right)


def _counts(
    test: Sequence[Episode],
    training: Sequence[Episode],
    held: HeldOut,
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
