"""The share of the learning rate that a step has, as TRL's trainers have it."""

from __future__ import annotations

import math

from apportion.rlhf.settings import AlignSettings


def share_of_lr(settings: AlignSettings, done: int) -> float:
    """What of the learning rate is taken after ``done`` of ``settings.steps`` steps: up in ``warmup``, then down.

    >>> settings = AlignSettings(steps=4, lr_schedule="cosine")
    >>> [round(share_of_lr(settings, done), 3) for done in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """
    rising = settings.warmup or 0
    if done < rising:
        return done / rising
    if settings.lr_schedule == "constant":
        return 1.0
    gone = (done - rising) / max(1, settings.steps - rising)
    return 1 - gone if settings.lr_schedule == "linear" else 0.5 * (1 + math.cos(math.pi * gone))
