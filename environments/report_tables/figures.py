"""A figure with its interval over episodes, and means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import IntervalEstimate, Missing
from apportion.foundation.intervals.resampling import Sampling, Statistic, interval


@dataclass(frozen=True)
class Value(IntervalEstimate):
    """A figure with its interval over episodes: none with a single one, or where most resamples give no figure.

    Parameters
    ----------
    items : int
        How many scores, pairs of scores or rated persons it is made of.
    episodes : int
        From how many episodes these are.
    p : float, optional
        Of the test that belongs to it.
    """

    items: int
    episodes: int
    p: float | None = None


Figure = Value | Missing


def mean(episodes: Sequence[str], x: Sequence[float], sampling: Sampling) -> Figure:
    """The mean of scores [shape=(N,)], each from one of ``episodes``; two of one episode are drawn together."""
    if not x:
        return Missing("nobody rated it")
    sums = sums_by_episode(episodes, np.ones(len(x)), np.asarray(x, float))
    return value_of(sums, lambda s: s[..., 1] / s[..., 0], len(x), sampling)


def sums_by_episode(episodes: Sequence[str], *columns: Floats) -> Floats:
    """By episode the sums of each column [shape=(E, C)]."""
    names, place = np.unique(np.asarray(episodes), return_inverse=True)
    return np.stack([np.bincount(place, weights=column, minlength=len(names)) for column in columns], axis=-1)


def value_of(sums: Floats, statistic: Statistic, items: int, sampling: Sampling) -> Value:
    """A figure of sums by episode [shape=(E, C)], with its interval."""
    value = float(statistic(sums.sum(axis=0)))
    low, high = interval(sums, statistic, sampling)
    return Value(value, low, high, items, len(sums))
