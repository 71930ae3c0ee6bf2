"""Advantages of turns within a group (GRPO, RLOO), and our reward as TRL's trainers call it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from apportion.foundation.distributed import Processes
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.trainers.running import updates_a_step
from apportion.rlhf.training.endings import StopReason
from apportion.rlhf.training.penalties import Penalties
from apportion.rlhf.training.reward import Reward, ScoreNorm, at_the_end, finite_scores, normalized_scores


class GroupReward:
    """One reward a response: the score of its turn, or the sum of its turns' scores.

    Scores are normalised and clipped as the settings say, as in PPO. After a call ``scores`` holds those of the call as
    the reward model gave them, ``lost`` what ``penalties`` took off (empty where there are none), both in all
    ``processes``, and ``turns`` what was made of this one's, one sequence a response. The moments of the scores are the
    same in every process.
    """

    __name__ = "reward"

    def __init__(
        self,
        reward: Reward,
        contexts: Sequence[DialogueContext],
        settings: AlignSettings,
        processes: Processes,
        penalties: Penalties | None = None,
    ) -> None:
        self.score_norm = ScoreNorm()
        self.scores: list[float] = []
        self.lost: list[float] = []
        self._penalties = penalties
        self.turns: list[list[float]] = []
        self.by = reward
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
        completion_ids: Sequence[Sequence[int]] = (),
        said: Sequence[Sequence[Sequence[int]]] | None = None,
        ending: Sequence[StopReason | None] = (),
        **others: Any,
    ) -> list[float]:
        """B rewards; ``context`` numbers what is answered.

        ``replies``, ``histories`` and ``said`` (the policy's tokens of each turn) come with several turns, else
        ``completion_ids`` are what was said; ``ending`` comes with episodes of an environment.
        """
        answered = [self._contexts[number] for number in context]
        turns_of = replies or [[completion[0]["content"].strip()] for completion in completions]
        histories_of = histories or [[context.history] for context in answered]
        step = trainer_state.global_step // updates_a_step(self._settings) + 1
        episodes = [one for one in ending if one is not None]
        here = finite_scores(
            self.by,
            [
                context.after(number)
                for context, turns in zip(answered, turns_of, strict=True)
                for number in range(len(turns))
            ],
            [history for turns in histories_of for history in turns],
            [reply for turns in turns_of for reply in turns],
            f"{self._settings.algorithm.upper()} step {step}",
            episodes,
        )
        last = [number + 1 == len(turns) for turns in turns_of for number in range(len(turns))]
        parts = self._processes.gather_objects((here, last, episodes))
        scores = [score for part, _, _ in parts for score in part]
        paid_at = at_the_end([one for _, part, _ in parts for one in part], self._settings)
        self.scores = [score for score, paid in zip(scores, paid_at or [True] * len(scores), strict=True) if paid]
        first = sum(len(part) for part, _, _ in parts[: self._processes.rank])
        self.lost = self._losses(said or [[ids] for ids in completion_ids], context)
        endings = [one for _, _, part in parts for one in part]
        paid = normalized_scores(scores, self.score_norm, self._settings, self.lost, paid_at, endings)
        own = iter(paid[first : first + len(here)])
        self.turns = [[next(own) for _ in turns] for turns in turns_of]
        return [math.fsum(turns) for turns in self.turns]

    def _losses(self, said: Sequence[Sequence[Sequence[int]]], context: Sequence[int]) -> list[float]:
        """What each turn of all processes loses: a reply is compared with theirs, too."""
        if self._penalties is None:
            return []
        here = [(list(tokens), number) for turns, number in zip(said, context, strict=True) for tokens in turns]
        every = [turn for part in self._processes.gather_objects(here) for turn in part]
        return self._penalties([tokens for tokens, _ in every], [number for _, number in every])


EPSILON = 1e-4
"""Added to the deviation, as in TRL's GRPO."""


def charged(
    scores: Sequence[Sequence[float]], ends: Sequence[Sequence[int]], divergence: Tensor, beta: float
) -> list[list[float]]:
    """What each turn is paid: its score less ``beta`` times the ``divergence`` of its tokens (Eq. 1, LLM-GELI).

    ``ends`` holds the column of the last token of each turn. ``divergence`` [shape=(B, L)], float: log pi - log
    pi_reference of each sampled token, 0 where the policy did not speak.
    """
    reached = divergence.double().cumsum(dim=1).tolist()
    return [
        [
            score - beta * (sums[end] - before)
            for score, end, before in zip(turns, columns, [0.0, *(sums[end] for end in columns)], strict=False)
        ]
        for turns, columns, sums in zip(scores, ends, reached, strict=True)
    ]


def turn_advantages(
    scores: Sequence[Sequence[float]], group: int, scaled: bool = True, others_alone: bool = False
) -> list[list[float]]:
    """How much better each turn went on than the same turn of the group's other responses.

    What counts for turn k is the sum of its score and of those of the turns after it; from that sum the mean over the
    group's responses that have a turn k is taken off; where ``scaled``, the difference is divided by their standard
    deviation (n - 1) + 1e-4, the one deviation of every group, the Refiner's among them (Eq. 7, Stackelberg Speaker,
    which leaves it open). With one turn a response this is GRPO's own advantage, and Dr. GRPO's (Liu et al., 2025,
    section 3.2) where it is not ``scaled``. GRPO's process supervision (Shao et al., 2024, section 4.1.3) compares each
    step's score with all steps of the group and then sums; here the k-th turns are compared with one another, because
    what was said before them differs from turn to turn.

    ``scores``: one score a turn, one sequence a response; ``group`` neighbouring responses answer the same context.
    ``others_alone``: the mean is that of the group's other responses, as in RLOO (Ahmadian et al., 2024): n / (n - 1)
    times the difference to the mean of all n. Returns One advantage a turn; 0 where no other response of the group has
    that turn.
    """
    advantages: list[list[float]] = []
    for start in range(0, len(scores), group):
        responses = scores[start : start + group]
        to_come = [[math.fsum(turns[turn:]) for turn in range(len(turns))] for turns in responses]
        sizes = [sum(len(sums) > turn for sums in to_come) for turn in range(max(map(len, to_come)))]
        levels = [_level([sums[turn] for sums in to_come if len(sums) > turn]) for turn in range(len(sizes))]
        advantages += [
            [
                (value - mean)
                / (deviation + EPSILON if scaled else 1.0)
                * (size / (size - 1) if others_alone and size > 1 else 1.0)
                for value, (mean, deviation), size in zip(sums, levels, sizes, strict=False)
            ]
            for sums in to_come
        ]
    return advantages


def _level(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0


def spread_over_tokens(advantages: Sequence[Sequence[float]], ends: Sequence[Sequence[int]], length: int) -> Tensor:
    """Each turn's advantage on all tokens up to its last one, from the turn before on; 0 after the last turn.

    ``ends`` holds the column of the last token of each turn. The result has shape (B, ``length``), float32. What the
    other side says lies between two turns and is masked in the loss.
    """
    spread = torch.zeros(len(advantages), length)
    for row, values, columns in zip(spread, advantages, ends, strict=True):
        start = 0
        for value, end in zip(values, columns, strict=True):
            row[start : end + 1] = value
            start = end + 1
    return spread
