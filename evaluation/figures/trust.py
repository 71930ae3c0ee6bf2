"""Whether methods order turns as people who labelled some dialogues do: yes, no, or how many more labels would tell."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from apportion.evaluation.figures.agreement import spearman
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.resampling import Sampling, interval

ASKED = 20
"""Labelled dialogues from which on a verdict is given."""
FEWEST = 10
"""Dialogues below which a bootstrap over them says nothing: of those with four labels or more that differ."""
LEAST, USEFUL = 0.1, 0.3
"""A correlation that is surely above the one is trusted, one that is surely below the other is not.

At ``USEFUL`` six of ten pairs of turns stand in the right order (Kendall's tau 0.2). In 20 dialogues of ten turns a
method of chance has a correlation whose 90 % interval reaches .13 to each side (a Spearman of T turns has the variance
1 / (T - 1)), so that it lies between the two: one of 20 is hardly trusted even where several methods are looked at.
"""
SAMPLING = Sampling(confidence=0.9)

Turns = Mapping[int, float | None]
"""Values by turn."""


@dataclass(frozen=True)
class Trust:
    """What labels say of a method.

    ``value``, ``low``, ``high``: mean within-session Spearman with the labels, its 90 % interval over dialogues; None
    where there is none. ``dialogues``: how many that rests on, of the ``labelled`` ones.

    >>> Trust("sentiment", 0.2, 0.05, 0.35, 20, 20).settled, Trust("sentiment", 0.2, 0.05, 0.35, 20, 20).more
    (None, 25)
    """

    method: str
    value: float | None
    low: float | None
    high: float | None
    dialogues: int
    labelled: int

    @property
    def settled(self) -> bool | None:
        """Whether it can be trusted; None where that is not settled."""
        if self.low is None or self.high is None or self.dialogues < FEWEST:
            return None
        return True if self.low > LEAST else False if self.high < USEFUL else None

    @property
    def more(self) -> int:
        """About how many more labelled dialogues settle it if the value stays: an interval is as wide as 1/sqrt(n)."""
        if self.settled is not None:
            return 0
        needed = float(FEWEST)
        if self.value is not None and self.low is not None and self.high is not None and self.dialogues >= FEWEST:
            ways = ((self.value - self.low, self.value - LEAST), (self.high - self.value, USEFUL - self.value))
            needed = self.dialogues * min((side / room) ** 2 for side, room in ways if room > 0)
        share = max(self.dialogues, 1) / max(self.labelled, 1)
        return max(1, math.ceil((needed - self.dialogues) / share - 1e-9))


def trust(labels: Mapping[str, Turns], values: Mapping[str, Mapping[str, Turns]], fewest: int = 4) -> list[Trust]:
    """What labels say of each method whose values of some dialogue differ; the one that agrees best comes first.

    The correlation of a dialogue counts by its turns less one, what its variance by chance is the inverse of. A
    dialogue with fewer than ``fewest`` labels does not count, nor one whose labels are alike; where a method's values
    are, it has 0 there. ``labels``: by session and turn. ``values``: by method, session and turn; what is missing
    counts as the mean of its dialogue.
    """
    labelled = {session: known for session, turns in labels.items() if (known := _known(turns))}
    used = {s: turns for s, turns in labelled.items() if len(turns) >= fewest and len(set(turns.values())) > 1}
    weights = np.array([len(turns) - 1 for turns in used.values()], dtype=np.float64)
    found = []
    for method, of in values.items():
        if not any(len(set(_known(turns).values())) > 1 for turns in of.values()):
            continue
        rhos = np.array([_correlation(turns, of.get(session, {})) for session, turns in used.items()])
        value = float(rhos @ weights / weights.sum()) if used else None
        low, high = interval(np.stack([rhos * weights, weights], axis=1), _mean, SAMPLING) if used else (None, None)
        found.append(Trust(method, value, low, high, len(used), len(labelled)))
    return sorted(found, key=lambda one: (-(one.value or 0.0), one.method))


def replies_tell(found: list[Trust]) -> Trust | None:
    """The method whose `Trust.settled` is that of all: one that is trusted, else one not settled, else the best of
    those that are not; None where there is no method."""
    order = (True, None, False)
    return min(found, key=lambda one: (order.index(one.settled), -(one.value or 0.0)), default=None)


def told(found: list[Trust], others: Collection[str] = ()) -> list[str]:
    """The verdict in words: of the replies, then of each method. ``others``: those that do not go by replies."""
    best = replies_tell([one for one in found if one.method not in others])
    if best is None:
        head = "No method that reads replies tells turns apart here, so labels say nothing of replies."
        return [head, *(f"{one.method}: {_verdict(one)}" for one in found)]
    labelled = f"the labels of {best.labelled} dialogue{'' if best.labelled == 1 else 's'}"
    if best.settled:
        head = f"Replies tell how turns land here, by {labelled}."
    elif best.settled is False:
        head = f"Replies tell little or nothing of how turns land here, by {labelled}: trust no method that reads them."
    elif best.dialogues < FEWEST:
        few = f"only {best.dialogues} of them have enough labels that differ"
        head = f"Whether replies tell anything here is not settled by {labelled}, since {few}: {_more(best)}."
    else:
        head = f"Whether replies tell anything here is not settled by {labelled}: {_more(best)}."
    return [head, *(f"{one.method}: {_verdict(one)}" for one in found)]


def _verdict(one: Trust) -> str:
    if one.value is None:
        return "nothing can be said"
    ends = "" if one.low is None or one.high is None else f" [{one.low:.2f}, {one.high:.2f}]"
    words = {True: "can be trusted", False: "cannot be trusted", None: f"not settled, {_more(one)}"}[one.settled]
    return f"{words} (agreement {one.value:.2f}{ends}; 0 is chance)"


def _more(one: Trust) -> str:
    return f"label about {one.more} more"


def _known(turns: Turns) -> dict[int, float]:
    return {turn: value for turn, value in turns.items() if value is not None and math.isfinite(value)}


def _correlation(labels: Mapping[int, float], values: Turns) -> float:
    known = _known(values)
    mean = sum(known.values()) / len(known) if known else 0.0
    mine = np.array([[known.get(turn, mean) for turn in labels]])
    return float(spearman(mine, np.array(list(labels.values())))[0])


def _mean(sums: Floats) -> Floats:
    mean: Floats = sums[..., 0] / sums[..., 1]
    return mean
