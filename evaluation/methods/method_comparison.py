"""One group of methods on their common held-out turns, with what people did and said during them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from apportion.corpus.session import EpisodeKey
from apportion.evaluation.confidence_intervals.bootstrap import (
    BootstrapResult,
    Estimate,
    Figure,
    Missing,
    difference,
    estimate,
)
from apportion.evaluation.evaluation import FaceCounts, MethodAgreement, OneAnnotator, PairedDifference
from apportion.evaluation.figures import agreement
from apportion.evaluation.figures.agreement import AgreementCounts
from apportion.evaluation.figures.calibration import Calibration, calibration
from apportion.evaluation.figures.global_loss import global_loss, residual_of, residual_told, sum_residual
from apportion.evaluation.figures.local_difference import HappyTurns, happy_turns, local_difference, people_difference
from apportion.evaluation.inputs import Evidence
from apportion.evaluation.references.test_set import AlignedValues
from apportion.evaluation.references.turn_labels import TurnLabels, read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats

NO_EPISODES = Missing("no test episode has values of every method")
SCORE_SEEN = Missing("a decomposition has seen the score: see its sum residual")
SCORE_UNSEEN = Missing("a reward model has not seen the score: see its global loss")
NO_OFFSET = Missing("what its rewards leave out of the score is unknown: no reward model was taught by it")
NO_UNITS = Missing("random turn rewards have no units")

Figures = Mapping[str, BootstrapResult | Missing]
"""One method's figures by their names in ``MethodFigures``, before they are summarised."""


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Gives every figure of a method's values on the common turns of ``aligned``."""

    aligned: AlignedValues
    faces: HappyTurns | Missing
    labels: TurnLabels | Missing
    settings: EvaluationSettings

    @classmethod
    def of(
        cls,
        aligned: AlignedValues,
        seen: Evidence,
        settings: EvaluationSettings,
    ) -> MethodComparison:
        """Read faces and labels on their turns; labels are those of people, or of one computation."""
        if not aligned.held.episodes:
            return cls(aligned, NO_EPISODES, NO_EPISODES, settings)
        return cls(
            aligned,
            happy_turns(seen.utterance_features, aligned.held, settings, seen.frames),
            read_labels(seen.turn_labels, aligned.held, settings),
            settings,
        )

    def model(self, values: Floats, offset: float) -> Figures:
        """Figures of a reward model [values: shape=(K, N)], which adds ``offset`` to its summed rewards."""
        held = self.aligned.held
        loss: BootstrapResult | Missing = NO_EPISODES
        line = Calibration.none(NO_EPISODES)
        if held.episodes:
            loss = global_loss(held, values, offset, self.settings)
            line = calibration(held, values, offset, self.settings)
        return {**self._of_turns(values), "global_loss": loss, "sum_residual": SCORE_UNSEEN, **_calibration(line)}

    def decomposition(
        self,
        values: Floats,
        raw: Floats,
        offset: float | None,
        residuals: Sequence[Mapping[EpisodeKey, float]] | None = None,
    ) -> Figures:
        """Figures of a decomposition's rewards and its own raw values [shape=(K, N)].

        ``residuals`` (K) are what is missing from the sums of its own values, where whoever made them has told it.
        """
        held = self.aligned.held
        residual: BootstrapResult | Missing = NO_EPISODES
        if held.episodes and residuals is not None:
            residual = residual_told(held, residuals, self.settings)
        elif held.episodes:
            residual = NO_OFFSET if offset is None else sum_residual(held, values, raw, offset, self.settings)
        return self._beside_decompositions(values, residual)

    def undivided(self, values: Floats, offset: float) -> Figures:
        """Figures of a constant session prediction as if it were a decomposition [values: zeros, shape=(1, N)]."""
        held = self.aligned.held
        residual = residual_of(held, values, offset, self.settings) if held.episodes else NO_EPISODES
        return self._beside_decompositions(values, residual)

    def _beside_decompositions(self, values: Floats, residual: BootstrapResult | Missing) -> Figures:
        seen = _calibration(Calibration.none(SCORE_SEEN))
        return {**self._of_turns(values), "global_loss": SCORE_SEEN, "sum_residual": residual, **seen}

    def random(self, draws: Floats) -> Figures:
        """Figures of random turn rewards [shape=(K, N)], which are in no units: only their order counts."""
        figures = {name: _one_value(figure) for name, figure in self._of_turns(draws).items()}
        if not isinstance(figures["local_difference"], Missing):
            figures["local_difference"] = NO_UNITS
        no_units = _calibration(Calibration.none(NO_UNITS))
        return {**figures, "global_loss": NO_UNITS, "sum_residual": NO_UNITS, **no_units}

    def _of_turns(self, values: Floats) -> Figures:
        return {"local_difference": self._local_difference(values), **self.agreement(values)}

    def _local_difference(self, values: Floats) -> BootstrapResult | Missing:
        faces = self.faces
        if isinstance(faces, Missing):
            return faces
        return faces.too_few or local_difference(self.aligned.held, values, faces, self.settings)

    def agreement(self, values: Floats) -> Figures:
        """How far values [shape=(K, N)] order the turns as the labels do."""
        held, labels, settings = self.aligned.held, self.labels, self.settings
        if isinstance(labels, Missing):
            return {"spearman": labels, "auc": labels}
        return {
            "spearman": agreement.within_session(held, values, labels, settings),
            "auc": agreement.pooled_auc(held, values, labels, settings),
        }

    def agrees(self, method: str, figures: Figures) -> MethodAgreement:
        """The same figures, summarised, of one method."""
        return MethodAgreement(method, self.figure(figures["spearman"]), self.figure(figures["auc"]))

    def face_counts(self) -> FaceCounts | Missing:
        """What tells a happy face, and how many turns lie on either side."""
        faces = self.faces
        if isinstance(faces, Missing):
            return faces
        happy, seen = int(faces.happy.sum()), int(faces.seen.sum())
        unseen = int(np.size(faces.seen)) - seen
        return FaceCounts(faces.feature, faces.threshold, happy, seen - happy, unseen, faces.why)

    def agreement_counts(self) -> AgreementCounts | Missing:
        """What the agreement with people rests on."""
        if isinstance(self.labels, Missing):
            return self.labels
        return agreement.count(self.aligned.held, self.labels, self.settings)

    def one_annotator(self) -> OneAnnotator:
        """What one annotator reaches against the mean of the others."""
        if isinstance(self.labels, Missing):
            return OneAnnotator(self.labels, self.labels)
        rho, auc = agreement.one_annotator(self.aligned.held, self.labels, self.settings)
        return OneAnnotator(self.figure(rho), self.figure(auc))

    def human(self) -> Figure:
        """The local difference of people's own labels, in their units."""
        if isinstance(self.faces, Missing):
            return self.faces
        if isinstance(self.labels, Missing):
            return self.labels
        few = self.faces.too_few
        return few or self.figure(people_difference(self.aligned.held, self.labels, self.faces, self.settings))

    def differences(
        self, among: str, methods: Mapping[str, Figures], figure: str, called: str = ""
    ) -> list[PairedDifference]:
        """Paired differences of every two ``methods`` in a figure that both have; ``called``: its name beside them."""
        found = []
        for method, against in combinations(sorted(methods), 2):
            paired = self.figure(difference(methods[method][figure], methods[against][figure]))
            if isinstance(paired, Estimate):
                found.append(PairedDifference(among, called or figure, method, against, paired))
        return found

    def figure(self, sampled: BootstrapResult | Missing) -> Figure:
        """The figure with its interval."""
        return sampled if isinstance(sampled, Missing) else estimate(sampled, self.settings.confidence)


def _calibration(calibrated: Calibration) -> Figures:
    return {"slope": calibrated.slope, "intercept": calibrated.intercept, "calibration_error": calibrated.error}


def _one_value(figure: BootstrapResult | Missing) -> BootstrapResult | Missing:
    """Draws are not training seeds: their mean, without a spread."""
    if isinstance(figure, Missing):
        return figure
    return BootstrapResult(figure.values.mean(keepdims=True), figure.replicates, figure.sessions)
