"""Controls: what agrees with people without judging a turn, and how much more a reward model does.

What knows no more than a turn's place, its length, its tone or the dialogue before it tells a policy nothing of what
to say. A reward model that does not agree with people more than these do is not worth optimising.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from apportion.corpus.session import EpisodeKey
from apportion.evaluation.confidence_intervals.bootstrap import (
    BootstrapResult,
    Estimate,
    Missing,
    difference,
)
from apportion.evaluation.evaluation import (
    BesideControls,
    Control,
    Evaluation,
    MethodAgreement,
    MethodFigures,
    RewardModelFigures,
)
from apportion.evaluation.figures import agreement
from apportion.evaluation.inputs import Evidence, TurnValues
from apportion.evaluation.methods.method_comparison import MethodComparison
from apportion.evaluation.references.test_set import TestSet, align
from apportion.foundation.arrays import Floats

PLACE, LENGTH, TONE, STATE = "place", "length", "turn sentiment", "state only"
NAMED = {
    PLACE: "the place of the turn",
    LENGTH: "its length",
    TONE: "its own sentiment",
    STATE: "the dialogue before it",
}
"""Controls by name, and what each is in a sentence."""


@dataclass(frozen=True, eq=False)
class Controls:
    """Controls on the held-out turns of a group of reward models, each with values [shape=(1, N)] or why it has none.

    ``states``: what the dialogue before the turn foretells of each reward model's values, by its method.
    """

    bench: MethodComparison
    shared: Mapping[str, Floats | Missing]
    states: Mapping[str, Floats | Missing]

    @classmethod
    def of(cls, bench: MethodComparison, evidence: Evidence) -> Controls:
        """Those of the turns that all reward models have values for."""
        held = bench.aligned.held
        turns = [(e, position) for e in held.episodes for position in e.target_positions]
        words = [float(len(e.turns[position].text.split())) for e, position in turns]
        places = [float(place) for e in held.episodes for place in range(len(e.target_turns))]
        shared: dict[str, Floats | Missing] = {PLACE: np.array([places]), LENGTH: np.array([words])}
        shared[TONE] = _values(evidence.sentiment, held)
        of, values = evidence.state_only, bench.aligned.values
        states = {name: of if isinstance(of, Missing) else _values(of.get(name, {}), held) for name in values}
        return cls(bench, shared, states)

    def agreements(self) -> tuple[MethodAgreement, ...]:
        """How far each control that all reward models share agrees with people; none without people's labels."""
        if isinstance(self.bench.labels, Missing) or not self.bench.aligned.values:
            return ()
        states = [values for values in self.states.values() if isinstance(values, Missing)]
        shown = {**self.shared, **({STATE: states[0]} if states else {})}
        return tuple(self._agreement(name, values) for name, values in shown.items())

    def beside(self, figures: MethodFigures, scores: pa.Table) -> RewardModelFigures:
        """A reward model's figures beside its controls; ``scores`` (REWARDS schema) tell what a policy is paid."""
        method = figures.method
        reward = self._of(method, self.bench.aligned.values[method])
        if reward is None:
            return RewardModelFigures(**vars(figures))
        told = "advantage" in scores.column_names  # Not in scores of an earlier version.
        paid = align(scores, self.bench.aligned.held, "advantage")[method] if told else np.array([np.nan])
        advantage = self._of(method, paid) if np.isfinite(paid).all() else None
        return RewardModelFigures(**vars(figures), controls=reward.controls, knows=reward.knows, advantage=advantage)

    def _agreement(self, name: str, values: Floats | Missing) -> MethodAgreement:
        if isinstance(values, Missing):
            return MethodAgreement(name, values, values)
        return self.bench.agrees(name, self.bench.agreement(values))

    def _of(self, method: str, values: Floats) -> BesideControls | None:
        """The agreement of ``values`` [shape=(K, N)] beside the controls; None where it cannot be had."""
        bench = self.bench
        own = bench.agreement(values)
        if isinstance(own["spearman"], Missing):
            return None
        known = {**self.shared, STATE: self.states[method]}
        controls = {
            name: control
            for name, of in known.items()
            if not isinstance(of, Missing) and (control := self._control(own, bench.agreement(of))) is not None
        }
        knows = {
            name: bench.figure(agreement.within_episodes(bench.aligned.held, values, of[0], bench.settings))
            for name in (PLACE, STATE)
            if not isinstance(of := known[name], Missing)
        }
        return BesideControls(bench.figure(own["spearman"]), bench.figure(own["auc"]), controls, knows)

    def _control(
        self, own: Mapping[str, BootstrapResult | Missing], control: Mapping[str, BootstrapResult | Missing]
    ) -> Control | None:
        value = self.bench.figure(control["spearman"])
        gain, by_auc = (self.bench.figure(difference(own[name], control[name])) for name in ("spearman", "auc"))
        if isinstance(value, Missing) or isinstance(gain, Missing):
            return None
        return Control(value.value, gain.value, gain.low, gain.high, value, self.bench.figure(control["auc"]), by_auc)


def _values(of: TurnValues | Missing, held: TestSet) -> Floats | Missing:
    """Values of every held-out turn [shape=(1, N)]."""
    if isinstance(of, Missing):
        return of
    keys: list[EpisodeKey] = [episode.key for episode in held.episodes]
    if lacking := [key for key in keys if key not in of]:
        return Missing(f"{len(lacking)} held-out sessions have none, first {lacking[0][0]!r}")
    return np.concatenate([np.zeros(0), *(np.asarray(of[key], dtype=np.float64) for key in keys)])[None]


@dataclass(frozen=True)
class ControlVerdict:
    """Whether a reward model agrees with people more than every control does.

    ``paid``: by what a policy is paid of it (its advantage); else by its reward. ``controls``: those that there are;
    ``against``: the one that it beats by least, ``gain``: by how much, paired. Without an interval nothing is beaten.
    """

    method: str
    paid: bool
    controls: tuple[str, ...]
    against: str
    gain: Estimate
    beats: bool

    def text(self, gain: str | None = None) -> str:
        """A sentence for a person, ``gain`` as it is written elsewhere on the page."""
        what = f"what a policy is paid by {self.method}" if self.paid else f"the reward model of {self.method}"
        *first, last = (NAMED[name] for name in self.controls)
        all_of_them = f"{', '.join(first)} or {last}" if first else last
        by = f"{gain or self.gain.text(2, sign=True)} over {NAMED[self.against]}"
        if self.beats:
            return f"{what} agrees with people more than {all_of_them} does ({by}, the nearest)."
        end = "label more held-out turns to be sure" if self.gain.value > 0 else "train no policy against it"
        return f"{what} is not shown to agree with people more than {all_of_them} does ({by}): {end}."


def beats_controls(evaluation: Evaluation | Mapping[str, Any], method: str) -> ControlVerdict | None:
    """The verdict on one reward model, by what a policy is paid where that is known.

    ``evaluation`` is the document of ``evaluation.json`` or what it holds. None where nothing says: no people's labels,
    or no such reward model.
    """
    found = evaluation if isinstance(evaluation, Evaluation) else Evaluation.from_json(evaluation)
    model = next((row for row in found.reward_models if row.method == method), None)
    if model is None:
        return None
    paid = model.advantage is not None
    controls = model.controls if model.advantage is None else model.advantage.controls
    if not controls:
        return None
    sessions = model.spearman.sessions if isinstance(model.spearman, Estimate) else 0
    gains = {name: Estimate(c.gain, c.low, c.high, sessions) for name, c in controls.items()}
    nearest = min(gains, key=lambda name: (gains[name].above_zero, gains[name].value, name))
    beats = all(gain.above_zero for gain in gains.values())
    return ControlVerdict(method, paid, tuple(gains), nearest, gains[nearest], beats)
