"""Advantages of turns within a group of responses to one context."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

EPSILON = 1e-4
"""Added to the deviation, as in TRL's GRPO."""


def turn_advantages(scores: Sequence[Sequence[float]], group: int) -> list[list[float]]:
    """How much better each turn went on than the same turn of the group's other responses.

    What counts for turn k is the sum of its score and of those of the turns after it; from that sum the mean over the
    group's responses that have a turn k is taken off, and the difference is divided by their standard deviation
    (n - 1) + 1e-4. With one turn a response this is GRPO's own advantage. GRPO's process supervision (Shao et al.,
    2024, section 4.1.3) compares each step's score with all steps of the group and then sums; here the k-th turns are
    compared with one another, because what was said before them differs from turn to turn.

    Parameters
    ----------
    scores : sequence of sequence of float
        One score a turn, one sequence a response; ``group`` neighbouring responses answer the same context.
    group : int
        Responses a context.

    Returns
    -------
    list of list of float
        One advantage a turn; 0 where no other response of the group has that turn.
    """
    advantages: list[list[float]] = []
    for start in range(0, len(scores), group):
        responses = scores[start : start + group]
        to_come = [[math.fsum(turns[turn:]) for turn in range(len(turns))] for turns in responses]
        levels = [
            _level([sums[turn] for sums in to_come if len(sums) > turn]) for turn in range(max(map(len, to_come)))
        ]
        advantages += [
            [(value - mean) / (deviation + EPSILON) for value, (mean, deviation) in zip(sums, levels, strict=False)]
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
