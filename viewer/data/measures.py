"""Figures of one episode that a list can be sorted by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Standing:
    """One method's rewards of one episode in short.

    ``total`` is their sum, ``lowest`` the smallest reward and ``lowest_turn`` its turn.
    """

    total: float
    lowest_turn: int
    lowest: float


def standing(rewards: Mapping[int, float]) -> Standing:
    """The standing of one method's rewards, turn to reward; the first of several lowest turns is named."""
    turn = min(rewards, key=lambda t: (rewards[t], t))
    return Standing(sum(rewards.values()), turn, rewards[turn])
