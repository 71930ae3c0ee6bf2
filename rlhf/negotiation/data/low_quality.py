"""Data sets of few different acts, D_L (section 6.1, appendix C.2).

The paper samples "training dialogues that consist of less than 50 % unique dialogue acts" and does not say of what.
Read as a share of the data's different acts (``data``), D_L keeps the dialogues in which nothing but the most frequent
half of all different acts is said. That has what Figure 12 and section 6.1 report: dialogues somewhat shorter, more
agreement, fewer different acts, and at 78 % nearly all the data. Read as a share of each dialogue's own acts
(``dialogue``), it keeps long dialogues that repeat themselves, with less agreement than the data: the contrary.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from apportion.environments.negotiation.vectorized import NO_ACT
from apportion.rlhf.negotiation.data.dialogues import TOKENS, Dialogues, Whole


def limited(dialogues: Dialogues, share: float, of: Literal["data", "dialogue"] = "data") -> Dialogues:
    """The dialogues of at most a share of unique acts; all of them at 1."""
    if share >= 1:
        return dialogues
    kept = unique_share(dialogues.acts) <= share if of == "dialogue" else _of_frequent(dialogues.acts, share)
    return dialogues.chosen(kept)


def _of_frequent(acts: Whole, share: float) -> NDArray[np.bool_]:
    counted = np.bincount(acts[acts != NO_ACT], minlength=TOKENS)
    order = np.argsort(-counted, kind="stable")
    allowed = np.zeros(TOKENS, dtype=np.bool_)
    allowed[order[: int(share * np.count_nonzero(counted))]] = True
    kept: NDArray[np.bool_] = (allowed[np.maximum(acts, 0)] | (acts == NO_ACT)).all(1)
    return kept


def unique_share(acts: Whole) -> NDArray[np.float64]:
    """How many of a dialogue's acts are different ones, as a share of its acts [shape=(B,)].

    >>> unique_share(np.array([[1, 2, 1, 2], [1, 2, 252, -1]]))
    array([0.5, 1. ])
    """
    ordered = np.sort(acts, axis=1)
    new = np.ones_like(ordered, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    shares: NDArray[np.float64] = (new & (ordered != NO_ACT)).sum(1) / np.maximum(1, (acts != NO_ACT).sum(1))
    return shares
