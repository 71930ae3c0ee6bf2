"""Credit by playing on (SAVOIR): an act is worth what playing on from a history with it brings, and without it.

Values are in units of the utility and have a sign; a coalition's worth is the mean utility of J plays (Eq. 1 to 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.decompose.method import TurnScore
from apportion.decompose.method_settings import SavoirSettings
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.shapley.value_function import BatchedValueFunction, NoisyValueFunction
from apportion.decompose.shapley.values import (
    InsufficientBudgetError,
    Sampling,
    ShapleyValues,
    by_prefix,
    default_budget,
    shapley_values,
    without_each,
)
from apportion.environments.episode_restorer import Rollable
from apportion.environments.rollout import Rollouts, RolloutUtility
from apportion.foundation.errors import UnitError
from apportion.llm_client.session import LLMSession


@dataclass(frozen=True)
class _Credited:
    """An episode of n acts whose coalitions can be asked for their worth."""

    episode: Episode
    settings: SavoirSettings
    rollouts: Rollouts

    @classmethod
    def of(cls, episode: Episode, chosen: DecomposeSettings, played: Rollable) -> _Credited:
        settings, rating = chosen.savoir, episode.rating
        # Where a low score is the good end, an act that lowers it has earned credit.
        weights = settings.weights or {rating.name: 1.0 if rating.higher_is_better else -1.0}
        rollouts = Rollouts(
            played,
            rating.target,
            episode.target_turns,
            RolloutUtility(weights, settings.scaled),
            rollouts=settings.rollouts,
            seed=f"{settings.seed}/{episode.session_id}",
            common_random_numbers=settings.common_random_numbers,
            at_once=chosen.llm.concurrency,
        )
        return cls(episode, settings, rollouts)

    @property
    def acts(self) -> int:
        """n."""
        return len(self.episode.target_turns)

    def shapley(self, sampling: Sampling, *, hindsight: bool = False) -> ShapleyValues:
        """Of histories that are played on, or in ``hindsight`` of the same as they stand."""
        settings = self.settings
        self.check_budget()
        return shapley_values(
            BatchedValueFunction(self.rollouts.all_as_they_stand)
            if hindsight
            else NoisyValueFunction(self.rollouts.all_plays),
            self.acts,
            budget=settings.budget,
            sampling=sampling,
            seed=settings.seed,
            drawn_alike=settings.common_random_numbers,
        )

    def by_hand(self, compute: Callable[..., ShapleyValues]) -> ShapleyValues:
        """Of few histories: `by_prefix` or `without_each` of what playing on brings."""
        value = BatchedValueFunction(self.rollouts.all_played_on)
        return compute(value, self.acts, drawn_alike=self.settings.common_random_numbers)

    def check_budget(self) -> None:
        """Hold the budget to the number of acts; one session of many acts is no reason to stop a run.

        Raises UnitError: It is too small to tell the acts apart.
        """
        acts, budget = self.acts, self.settings.budget or default_budget(self.acts)
        if 2**acts > budget and budget < 2 * acts + 2:
            raise UnitError(
                f"a budget of {budget} histories does not tell {acts} acts apart, which takes 2n + 2 = "
                f"{2 * acts + 2}. Set decompose.savoir.budget."
            )

    def judgements(self, compute: Callable[[], ShapleyValues]) -> list[TurnScore]:
        """What each act is worth, its standard error, and what that rests on.

        Raises UnitError: A history cannot be played on, its utility is missing or not finite, or those drawn do not
        tell the acts apart.
        """
        if not self.acts:
            return []
        try:
            found = compute()
        except (UnitError, InsufficientBudgetError) as error:  # An unlucky draw is no reason to stop a run either.
            evidence = getattr(error, "evidence", None)
            raise UnitError(f"session {self.episode.session_id}: {error}", evidence) from None
        rests_on = self._told(found)
        spread = found.standard_errors
        known = self.rollouts.so_far.plays == 0 or self.settings.rollouts > 1
        return [
            TurnScore(turn, float(value), rests_on, float(sd) if known else None)
            for turn, value, sd in zip(self.episode.target_turns, found.values, spread, strict=True)
        ]

    def _told(self, found: ShapleyValues) -> str:
        so_far = self.rollouts.so_far
        parts = [
            f"{found.estimator}: {found.calls} histories of {self.acts} acts",
            f"worth {found.empty:.4g} without any, {found.whole:.4g} with all",
            f"{so_far.plays} plays of {so_far.acts} acts",
        ]
        if so_far.dropped:
            parts.append(f"{so_far.dropped} acts dropped that the rules did not allow there")
        return "; ".join(parts) + "."


Judge = Callable[[Episode, pa.Table | None, DecomposeSettings, LLMSession, Rollable], list[TurnScore]]
"""A method of the registry, which reads neither behaviour nor a language model."""


def _credit(compute: Callable[[_Credited], ShapleyValues]) -> Judge:
    def judge(
        episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession, played: Rollable
    ) -> list[TurnScore]:
        credited = _Credited.of(episode, settings, played)
        return credited.judgements(lambda: compute(credited))

    return judge


savoir = _credit(lambda credited: credited.shapley("kriged"))
"""Shapley values (Eq. 4): exact where the budget has all coalitions (n <= 7), else kriging from pairs."""
savoir_paper = _credit(lambda credited: credited.shapley("appendix-d"))
"""Algorithm 1 with appendix D's coalitions, before its last step, which is `Raw.min_max`."""
shapley_hindsight = _credit(lambda credited: credited.shapley("kriged", hindsight=True))
"""Shapley values of the same histories scored as they stand: fair shares of what was, without what may come."""
expected_utility = _credit(lambda credited: credited.by_hand(by_prefix))
"""Expected utility after each act less that before it: prospective, and no Shapley value."""
leave_one_out = _credit(lambda credited: credited.by_hand(without_each))
"""Expected utility of the whole history less that without the act."""
