"""Our reward as TRL's trainers call it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from apportion.foundation.distributed import Processes
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.trainers.arguments import updates_a_step
from apportion.rlhf.training.reward import Reward, finite_scores
from apportion.rlhf.training.score_norm import ScoreNorm


class GroupReward:
    """One reward a response: the score of its turn, or the sum of its turns' scores.

    Scores are normalised and clipped as the settings say, as in PPO. After a call ``scores`` holds those of the call as
    the reward model gave them, in all ``processes``, and ``turns`` what was made of this one's, one sequence a
    response. The moments of the scores are the same in every process.
    """

    __name__ = "reward"

    def __init__(
        self, reward: Reward, contexts: Sequence[DialogueContext], settings: AlignSettings, processes: Processes
    ) -> None:
        self.score_norm = ScoreNorm()
        self.scores: list[float] = []
        self.turns: list[list[float]] = []
        self._reward = reward
        self._contexts = contexts
        self._settings = settings
        self._processes = processes

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Sequence[Mapping[str, str]]],
        context: Sequence[int],
        trainer_state: Any,
        replies: Sequence[Sequence[str]] | None = None,
        histories: Sequence[Sequence[str]] | None = None,
        **others: Any,
    ) -> list[float]:
        """B rewards; ``context`` numbers what is answered, ``replies`` and ``histories`` come with several turns.

        Raises
        ------
        UnitError
            A score that is not a finite number.
        """
        answered = [self._contexts[number] for number in context]
        turns_of = replies or [[completion[0]["content"].strip()] for completion in completions]
        histories_of = histories or [[context.history] for context in answered]
        step = trainer_state.global_step // updates_a_step(self._settings) + 1
        here = finite_scores(
            self._reward,
            [context for context, turns in zip(answered, turns_of, strict=True) for _ in turns],
            [history for turns in histories_of for history in turns],
            [reply for turns in turns_of for reply in turns],
            f"{self._settings.algorithm.upper()} step {step}",
        )
        parts = self._processes.gather_objects(here)
        self.scores = [score for part in parts for score in part]
        first = sum(map(len, parts[: self._processes.rank]))
        scores = iter(self._settled(self.scores)[first : first + len(here)])
        self.turns = [[next(scores) for _ in turns] for turns in turns_of]
        return [math.fsum(turns) for turns in self.turns]

    def _settled(self, scores: Sequence[float]) -> Sequence[float]:
        if self._settings.score_norm:
            self.score_norm.update(scores)
            scores = self.score_norm(scores)
        limit = self._settings.reward_clip
        return scores if limit is None else [min(max(score, -limit), limit) for score in scores]
