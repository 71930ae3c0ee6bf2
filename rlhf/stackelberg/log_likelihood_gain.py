"""How far a speech moves its follower towards the answers that the leader wants (Eq. 5), and the variants of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from apportion.decompose.influence.scorer import LogprobResult, LogprobScorer, Prompt, shift_of
from apportion.foundation.arrays import Floats
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.questions import OPEN, speech_chat

Form = Literal["printed", "released"]
Side = Literal["both", "positive", "negative"]
RELEASED_LIMIT = 50.0
"""Of the released reward, either way."""
FREE_WORDS, LONGEST_WORDS, PENALTY = 100, 200, 10.0
"""The released code takes nothing off a speech of up to 100 words, and 10 off one of 200 or more."""


def measured_after(measurer: LogprobScorer, instance: Instance, candidates: Sequence[str]) -> LogprobResult:
    """log P_F of the instance's 2K answers after each of n ``candidates`` [shape=(n, 2K)] (Eq. 6).

    Each answer is what the follower says next in its own prompt, with its true role (Figure 9): the desired ones first.

    Raises
    ------
    InputError, UnitError, TooLongError
        As `apportion.decompose.influence.scorer.LogprobScorer.measure`.
    """
    prompts = [Prompt(speech_chat(instance.after(candidate)), begun=OPEN) for candidate in candidates]
    return measurer.measure(prompts, [*instance.desired, *instance.undesired])


def impacts(measured: LogprobResult, desired: int, form: Form = "printed", side: Side = "both") -> Floats:
    """R(u) [shape=(n,)] of what was measured, before any penalty.

    Parameters
    ----------
    measured : Measured
        ``sums`` [shape=(n, 2K)], the first ``desired`` columns for desired answers.
    desired : int
        K.
    form : str
        ``printed``: nats, summed over an answer's tokens (Eq. 6); ``released``: nats a token, its sum held to +-50.
    side : str
        ``both`` (Eq. 5), or the ablations of section 4.3: ``positive`` raises desired answers alone, ``negative``
        lowers undesired ones alone.
    """
    kept = {"both": slice(None), "positive": slice(None, desired), "negative": slice(desired, None)}[side]
    part = LogprobResult(measured.sums[:, kept], measured.tokens[:, kept])
    shifts = shift_of(part, 0 if side == "negative" else desired, per_token=form == "released")
    return np.clip(shifts, -RELEASED_LIMIT, RELEASED_LIMIT) if form == "released" else shifts


def length_penalty(words: int, free: int = FREE_WORDS, longest: int = LONGEST_WORDS) -> float:
    """What the released code adds to the reward of a speech of so many words: from 0 to -10 between 100 and 200.

    >>> length_penalty(100), length_penalty(150), length_penalty(400)
    (0.0, -5.0, -10.0)
    """
    over = (words - free) / (longest - free)
    return -PENALTY * min(1.0, over) if over > 0 else 0.0


def word_count(speech: str) -> int:
    """Words of a speech, as blanks part them."""
    return len(speech.split())
