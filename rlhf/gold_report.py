"""What gold says of a training: the verdict, and the curves of reward and gold over the divergence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, estimate, ratio, resample
from apportion.evaluation.settings import EvaluationSettings
from apportion.rlhf.policy.contexts import DialogueContext


@dataclass(frozen=True)
class CurvePoint:
    """Mean reward (the proxy) and gold of replies at ``kl`` nats a reply from the start; ``at`` is the step, or n.

    Of a report both are above the start's, in standard deviations of its replies.
    """

    at: int
    kl: float
    reward: float
    gold: float


@dataclass(frozen=True)
class GoldReport:
    """What gold says of a training.

    ``told``: what gold is; ``kept``: the step whose adapters are the policy. ``gain``, ``reward_gain``: by gold B and
    by the proxy, on ``contexts`` test contexts, in standard deviations of the start's replies. ``agreement``: Pearson's
    r of gold A and B on these replies. ``fell``: gold A stopped the training. ``curve``: the start and every measured
    step by gold A; ``best_of``: what best-of-n by the proxy reaches from the start.
    """

    told: str
    kept: int
    contexts: int
    gain: Estimate
    reward_gain: Estimate
    agreement: float
    fell: bool
    curve: tuple[CurvePoint, ...]
    best_of: tuple[CurvePoint, ...]

    @property
    def verdict(self) -> str:
        """One sentence: the gain by gold, and up to where the reward can be believed."""
        low, high = self.gain.low, self.gain.high
        better = "Not shown to be better by gold"
        if low is not None and high is not None and (low > 0 or high < 0):
            better = "Better by gold" if low > 0 else "Worse by gold"
        told = (
            f"{better}: {self.gain.text(2, sign=True)} sd of the start's replies on {self.contexts} test contexts "
            f"(by the reward it was trained on {self.reward_gain.text(2, sign=True)})"
        )
        return f"{told}; {self._belief}."

    @property
    def _belief(self) -> str:
        if not self.fell:
            return f"kept is step {self.kept}, the best by gold of those measured; gold did not fall for long"
        of_kept = next(point for point in self.curve if point.at == self.kept)
        ended = self.curve[-1]
        best = 0 if self.curve[0].gold > of_kept.gold else self.kept
        since = "from the start" if best == 0 else f"after step {best}"
        believed = next(point for point in self.curve if point.at == best)
        if ended.reward > believed.reward:
            return f"the reward is no longer to be believed {since}: it rose while gold fell, until step {ended.at}"
        return f"gold fell {since}, and so did the reward; stopped in step {ended.at}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "verdict": self.verdict}


def spread(scores: Tensor) -> float:
    """Their standard deviation; 1 where they do not differ."""
    return (float(scores.std()) if len(scores) > 1 else 0.0) or 1.0


def gain_of(contexts: Sequence[DialogueContext], before: Tensor, after: Tensor) -> Estimate:
    """The mean paired difference in standard deviations of the start's replies; whole sessions are drawn."""
    scale = spread(before)
    sums: dict[str, list[float]] = {}
    for context, value in zip(contexts, ((after - before) / scale).tolist(), strict=True):
        of_session = sums.setdefault(context.session_id, [0.0, 0.0])
        of_session[0] += value
        of_session[1] += 1.0
    settings = EvaluationSettings()
    return estimate(resample(np.array([list(sums.values())]), ratio, settings), settings.confidence)
