"""The result of an evaluation: figures of every method, comparisons, what they rest on, and warnings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Figure, Missing
from apportion.evaluation.figures.agreement import AgreementCounts
from apportion.evaluation.figures.consistency import Consistency
from apportion.evaluation.inputs import SupportCount
from apportion.evaluation.settings import EvaluationSettings

NOT_TAKEN = Missing("it was not taken")


@dataclass(frozen=True)
class MethodFigures:
    """All figures of one method.

    ``global_loss`` (Eq. 6) and ``below_mean`` (the Mean baseline's global loss minus this one's, paired: above zero
    is better) are in squared units of the score, ``sum_residual``, ``local_difference`` (Eq. 7), ``intercept`` and
    ``calibration_error`` in its units. ``slope`` and ``intercept`` are those of given on predicted session scores.
    """

    method: str
    seeds: int
    global_loss: Figure
    below_mean: Figure
    local_difference: Figure
    spearman: Figure
    auc: Figure
    sum_residual: Figure
    slope: Figure
    intercept: Figure
    calibration_error: Figure


@dataclass(frozen=True)
class Control:
    """What judges no turn, beside a reward model: its own agreement with people, and how much more the model has.

    ``value`` and ``gain`` (paired, from ``low`` to ``high``) are of the within-session Spearman, of which ``spearman``
    has the interval; then the same by AUC.
    """

    value: float
    gain: float
    low: float | None
    high: float | None
    spearman: Figure
    auc: Figure
    auc_gain: Figure


@dataclass(frozen=True)
class BesideControls:
    """The agreement of some values with people, and ``controls`` by name on the same turns.

    ``knows``: mean within-session Spearman of the values with controls that know nothing of the turn.
    """

    spearman: Figure
    auc: Figure
    controls: Mapping[str, Control]
    knows: Mapping[str, Figure]


@dataclass(frozen=True)
class RewardModelFigures(MethodFigures):
    """With what is known without judging a turn: ``controls`` and ``knows`` as in `BesideControls`, of the reward.

    ``advantage``: the same of what a policy is paid; None where the scores do not tell. All empty without people's
    labels.
    """

    controls: Mapping[str, Control] = field(default_factory=dict)
    knows: Mapping[str, Figure] = field(default_factory=dict)
    advantage: BesideControls | None = None


@dataclass(frozen=True)
class PairedDifference:
    """The paired difference ``method`` minus ``against`` of one figure of ``MethodFigures``.

    ``among`` is ``reward_models`` (with the baselines) or ``decompositions``.
    """

    among: str
    figure: str
    method: str
    against: str
    difference: Estimate


@dataclass(frozen=True)
class HeldOutCounts:
    """What the figures rest on: test sessions and episodes, and those on which all methods are compared."""

    training_scores: int
    test_sessions: int
    test_episodes: int
    without_target_turns: int
    scored_sessions: int
    scored_episodes: int
    decomposed_sessions: int
    decomposed_episodes: int


@dataclass(frozen=True)
class FaceCounts:
    """What tells a happy face (``happiness`` or ``smile``, from ``threshold`` on), and the turns on either side.

    ``threshold`` is None where happiness has to be the most probable emotion of most of a turn's pictures.
    ``why`` says what was amiss with the better feature; it is empty for ``happiness``.
    """

    feature: str
    threshold: float | None
    happy: int
    other: int
    unseen: int
    why: str = ""


@dataclass(frozen=True)
class OneAnnotator:
    """What one annotator's labels reach against the mean of the others: a noisy reference, not a ceiling."""

    spearman: Figure
    auc: Figure


@dataclass(frozen=True)
class MethodAgreement:
    """How far one method orders the turns as some labels do."""

    method: str
    spearman: Figure
    auc: Figure


@dataclass(frozen=True)
class ComputedAgreement:
    """Agreement with labels that were computed and that nobody gave; ``by`` is their annotator, ``computed:…``.

    ``comparisons`` are of the figures ``computed_spearman`` and ``computed_auc``, among ``reward_models`` or
    ``decompositions``.
    """

    by: str
    counts: AgreementCounts | Missing
    reward_models: tuple[MethodAgreement, ...]
    decompositions: tuple[MethodAgreement, ...]
    comparisons: tuple[PairedDifference, ...]


@dataclass(frozen=True)
class Evaluation:
    """Everything that ``evaluation.json`` holds; methods and baselines are sorted by name.

    ``baselines`` stand beside the reward models, ``decomposition_baselines`` beside the decompositions: the two groups
    may be compared on different episodes. ``human`` is the local difference of people's labels, in their units;
    ``rests`` tells which methods had nothing to judge by in some sessions: the row of such a one among the
    decompositions is of other sessions than the rest, and is compared with none. ``own_units`` are the methods whose
    rewards are in other units than the score's; ``notes`` are what a reader has to know of the methods, as whoever
    called the evaluation says it; ``findings`` say which reward models the test sessions cannot tell apart.
    ``agreement``, ``one_annotator``, ``human`` and the methods' Spearman and AUC are of people's labels alone;
    ``computed`` has those of computed ones, each kind by itself. ``controls`` are the agreement of what judges no turn
    and is the same beside all reward models.
    """

    rating: str
    counts: HeldOutCounts
    reward_models: tuple[RewardModelFigures, ...]
    baselines: tuple[MethodFigures, ...]
    decompositions: tuple[MethodFigures, ...]
    decomposition_baselines: tuple[MethodFigures, ...]
    comparisons: tuple[PairedDifference, ...]
    faces: FaceCounts | Missing
    agreement: AgreementCounts | Missing
    one_annotator: OneAnnotator
    warnings: tuple[str, ...]
    settings: EvaluationSettings
    consistency: tuple[Consistency, ...] = ()
    human: Figure = NOT_TAKEN
    own_units: tuple[str, ...] = ()
    rests: tuple[SupportCount, ...] = ()
    notes: tuple[str, ...] = ()
    computed: tuple[ComputedAgreement, ...] = ()
    findings: tuple[str, ...] = ()
    controls: tuple[MethodAgreement, ...] = ()

    @property
    def partial(self) -> frozenset[str]:
        """The methods that are decompositions of some test sessions alone."""
        return frozenset(rests.method for rests in self.rests if rests.part == "all")

    def to_json(self) -> dict[str, Any]:
        """The document of ``evaluation.json``: plain JSON values, keys sorted, no NaN.

        ``computed`` is no key of it where the corpus has no computed labels.
        """
        text = json.dumps(_adapter().dump_python(self, mode="json"), sort_keys=True, allow_nan=False)
        document: dict[str, Any] = json.loads(text)
        if not self.computed:
            del document["computed"]
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Evaluation:
        """Read what ``to_json`` gave; raises pydantic's ValidationError on anything else."""
        evaluation: Evaluation = _adapter().validate_python(document)
        return evaluation


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Evaluation)
