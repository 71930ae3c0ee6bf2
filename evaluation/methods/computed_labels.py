"""Agreement with computed truth: turn labels that nobody gave, each kind apart, and apart from people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from apportion.corpus.annotators import computed_labels
from apportion.evaluation.evaluation import ComputedAgreement, MethodAgreement, PairedDifference
from apportion.evaluation.inputs import Evidence
from apportion.evaluation.methods import baselines
from apportion.evaluation.methods.method_comparison import Figures, MethodComparison
from apportion.evaluation.references.test_set import AlignedValues
from apportion.evaluation.settings import EvaluationSettings

FIGURES = {"spearman": "computed_spearman", "auc": "computed_auc"}
"""Figures of the agreement with people, and what the same with computed labels is called."""


def computed_agreements(
    turn_labels: pa.Table | None,
    scored: AlignedValues,
    decomposed: Sequence[AlignedValues],
    settings: EvaluationSettings,
) -> tuple[ComputedAgreement, ...]:
    """One agreement for each annotator and name of computed labels; those of ``settings.label`` alone where it is set.

    ``turn_labels``: the corpus' labels, people's among them; None or empty where there are none. ``scored``: the reward
    models. ``decomposed``: the decompositions that are compared with one another, then those that judged some sessions
    alone.
    """
    if turn_labels is None:
        return ()
    return tuple(
        _agreement(by, labels, scored, decomposed, settings)
        for (by, name), labels in computed_labels(turn_labels).items()
        if settings.label in (None, name)
    )


def _agreement(
    by: str, labels: pa.Table, scored: AlignedValues, decomposed: Sequence[AlignedValues], settings: EvaluationSettings
) -> ComputedAgreement:
    models, *others = [
        MethodComparison.of(aligned, Evidence(turn_labels=labels), settings) for aligned in (scored, *decomposed)
    ]
    rows = [_rows(bench, alone=number > 0) for number, bench in enumerate(others)]
    of_models = _rows(models)
    divided = [row for bench, figures in zip(others, rows, strict=True) for row in _estimates(bench, figures)]
    return ComputedAgreement(
        by=by,
        counts=models.agreement_counts(),
        reward_models=_estimates(models, of_models),
        decompositions=tuple(sorted(divided, key=lambda row: (row.method == baselines.RANDOM, row.method))),
        comparisons=(
            *_compared(models, "reward_models", of_models),
            *(_compared(others[0], "decompositions", rows[0]) if others else ()),
        ),
    )


def _rows(bench: MethodComparison, *, alone: bool = False) -> dict[str, Figures]:
    """Every method's figures and, unless it stands ``alone`` on sessions of its own, those of random rewards."""
    if not bench.aligned.values:
        return {}
    rows = {method: bench.agreement(values) for method, values in sorted(bench.aligned.values.items())}
    if not alone:
        settings = bench.settings
        draws = baselines.random_rewards(bench.aligned.held.turns, settings.random_draws, settings.seed)
        rows[baselines.RANDOM] = bench.random(draws)
    return rows


def _estimates(bench: MethodComparison, rows: Mapping[str, Figures]) -> tuple[MethodAgreement, ...]:
    return tuple(bench.agrees(method, figures) for method, figures in rows.items())


def _compared(bench: MethodComparison, among: str, rows: Mapping[str, Figures]) -> list[PairedDifference]:
    return [one for figure, called in FIGURES.items() for one in bench.differences(among, rows, figure, called)]
