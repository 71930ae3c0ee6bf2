"""How dialogues in an environment ended, and what of it is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class StopReason:
    """How a dialogue in an environment ended.

    ``value`` is what the policy has in the dimension that is watched (None: not known), ``over`` whether the rules have
    ended it, ``turns`` how often the policy spoke, ``unusable`` how often that was no act that the rules allow,
    ``score`` what it is worth as a reward, ``role`` what it played (`Environment.role`), ``credit`` what each of its
    turns has brought, where that is told.
    """

    value: float | None
    over: bool
    turns: int
    unusable: int
    score: float = 0.0
    role: str = ""
    credit: tuple[float, ...] = ()


def measured_endings(endings: Sequence[StopReason]) -> dict[str, float]:
    """Of dialogues in an environment the mean value reached, the share that the rules ended, and that of no acts."""
    if not endings:
        return {}
    known = [ending.value for ending in endings if ending.value is not None]
    turns = sum(ending.turns for ending in endings)
    value = {"outcome": math.fsum(known) / len(known)} if known else {}
    return {
        **value,
        "ended": sum(ending.over for ending in endings) / len(endings),
        "unusable": sum(ending.unusable for ending in endings) / turns,
    }
