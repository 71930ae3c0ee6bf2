"""Simulated annotators whose taste is known: for demos, load tests and power, and named as simulated everywhere.

Whether an answer marks a response follows from a normal number with variance 1: the system's effect, and what is shared
(`Shared`) by answers on one item, of one annotator, on one response, and by an annotator's answers on one system. Half
of each is common to all criteria, half is a criterion's own; the rest is the answer's own.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.study.design.answers import TIE, Value
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item
from apportion.study.design.randomization import lettered
from apportion.study.design.unblinding_key import Key

PREFIX = "simulated-"
"""How the ids of simulated annotators begin."""
REASON = "Simulated annotator: no person read this and nobody wrote this reason."
TIES = 0.25
"""Two responses closer than this, in standard deviations of what an answer rests on, are a tie."""
MARKED, UNMARKED = 0.3, 0.85
"""Shares of answers that mark a response without an effect, and that leave it unmarked where that is the good one."""
_NORMAL = NormalDist()


def is_simulated(annotator: str) -> bool:
    """Whether an annotator's id is that of a simulated one.

    >>> is_simulated("simulated-001"), is_simulated("a001")
    (True, False)
    """
    return annotator.startswith(PREFIX)


def simulated_name(number: int) -> str:
    """The id of a simulated annotator.

    >>> simulated_name(7)
    'simulated-007'
    """
    return f"{PREFIX}{number:03d}"


@dataclass(frozen=True)
class Shared:
    """Shares of the variance of what an answer rests on; the rest is the answer's own. Assumed: no paper tells them.
    Raises InputError: a share below 0, or all of them together 1 or more.
    """

    item: float = 0.10
    annotator: float = 0.15
    response: float = 0.20
    taste: float = 0.05

    def __post_init__(self) -> None:
        shares = (self.item, self.annotator, self.response, self.taste)
        if min(shares) < 0 or not math.fsum(shares) < 1:
            raise InputError(
                f"shares of variance {', '.join(f'{share:g}' for share in shares)}: none may be below 0, and all "
                "together have to be below 1, so that something is left to each answer."
            )

    @property
    def own(self) -> float:
        """What is left to each answer."""
        return 1 - math.fsum((self.item, self.annotator, self.response, self.taste))


INDEPENDENT = Shared(0.0, 0.0, 0.0, 0.0)
"""Answers that have nothing in common: the best that a study can hope for."""


def assigned(
    items: int, per_item: int, annotators: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Who answers what: every item by ``per_item`` of those who have the fewest so far, ties by chance.

    Returns items, annotators : int64 [shape=(items * per_item,)]. Raises InputError: fewer annotators than an item
    needs.
    """
    if annotators < per_item:
        raise InputError(f"{annotators} annotators cannot give {per_item} answers to an item: nobody answers it twice.")
    load = np.zeros(annotators)
    people = np.empty((items, per_item), np.int64)
    for row in people:
        row[:] = np.argsort(load + rng.random(annotators) / 2)[:per_item]
        load[row] += 1
    return np.repeat(np.arange(items), per_item), people.ravel()


def simulated_marks(
    shares: Floats,
    shared: Shared,
    items: NDArray[np.int64],
    annotators: NDArray[np.int64],
    rng: np.random.Generator,
) -> Floats:
    """Marks of K systems on C criteria in A answers [shape=(A, K, C)].

    ``shares`` float64 [shape=(K, C)]: the true share of marks of each system on each criterion, above 0 and below 1.
    ``items``, ``annotators`` int64 [shape=(A,)]: numbers from 0.
    """
    systems, criteria = shares.shape

    def effect(share: float, rows: int, columns: int) -> Floats:
        """Half common to the criteria, half of each [shape=(rows, columns, C)]."""
        common = rng.standard_normal((rows, columns, 1))
        values: Floats = np.sqrt(share / 2) * (common + rng.standard_normal((rows, columns, criteria)))
        return values

    many, people = int(items.max()) + 1, int(annotators.max()) + 1
    latent = np.vectorize(_NORMAL.inv_cdf)(shares)[None] + effect(shared.item, many, 1)[items]
    latent = latent + effect(shared.annotator, people, 1)[annotators]
    latent = latent + effect(shared.response, many, systems)[items] + effect(shared.taste, people, systems)[annotators]
    marks: Floats = (latent + np.sqrt(shared.own) * rng.standard_normal(latent.shape) > 0).astype(np.float64)
    return marks


@dataclass(frozen=True)
class SimulatedAnswer:
    """What a simulated annotator gives to an item: answers by criterion, a reason, and how long it would have taken."""

    answers: dict[str, Value]
    reason: str
    seconds: float
    focus_lost: int


@dataclass(frozen=True)
class SimulatedAnnotators:
    """People that are none: what each says of an item depends on the seed, its id and the item alone.

    ``key``: whose response is which; only simulated annotators may know. ``effects``: of a policy, in standard
    deviations of what an answer rests on; 0 where none is named. ``careless``: annotators who answer at random and at
    once, attention checks among it.
    """

    study: StudyFolder
    key: Key
    effects: Mapping[str, float] = field(default_factory=dict)
    shared: Shared = field(default_factory=Shared)
    seed: int = 0
    careless: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = sorted(set(self.effects) - set(self.key.policies))
        if unknown:
            raise InputError(
                f"an effect of {unknown[0]!r}, which is none of the policies {', '.join(self.key.policies)}."
            )
        object.__setattr__(self, "_policies", self.key.policy_of)

    def answer(self, annotator: str, item: Item) -> SimulatedAnswer:
        """What an annotator answers to an item of the study; attention checks are passed by all but the careless."""
        hasty = annotator in self.careless
        answers = {
            criterion.name: self._at_random(annotator, item, criterion)
            if hasty
            else self._judged(annotator, item, criterion)
            for criterion in self.study.criteria.criteria
        }
        check = self.study.checks.get(item.item)
        if check is not None and not hasty:
            given = answers[check.criterion]
            both = isinstance(check.expected, Mapping) and isinstance(given, Mapping)
            answers[check.criterion] = {**given, **check.expected} if both else check.expected  # type: ignore[dict-item]
        typical, spread = (2.5, 0.2) if hasty else (40.0, 0.4)
        pace = 0.3 * self._normal("pace", annotator) + spread * self._normal("pace", annotator, item.item)
        lost = int(self._normal("focus", annotator, item.item) > 2)
        return SimulatedAnswer(answers, self._reason(), round(typical * math.exp(pace), 1), lost)

    def _judged(self, annotator: str, item: Item, criterion: Criterion) -> Value:
        if criterion.kind == "turns":
            return {str(place): self._rated(annotator, item, criterion, place) for place in item.positions}
        values = {
            one.id: self._liking(annotator, item, criterion, self._policy(item, one.id)) for one in item.responses
        }
        if criterion.kind == "rating":
            return {one: _on_scale(value, criterion) for one, value in values.items()}
        if criterion.kind == "pair":
            (first, one), (second, other) = values.items()
            return TIE if abs(one - other) < TIES else first if one > other else second
        if criterion.reversed:
            return sorted(one for one, value in values.items() if value + _NORMAL.inv_cdf(UNMARKED) < 0)
        return sorted(one for one, value in values.items() if value + _NORMAL.inv_cdf(MARKED) > 0)

    def _rated(self, annotator: str, item: Item, criterion: Criterion, place: int) -> int:
        liking = self._liking(annotator, item, criterion, "")
        turn = self._normal("turn", item.session_id, str(item.turn), str(place))
        return _on_scale((liking + turn) / math.sqrt(2), criterion)

    def _liking(self, annotator: str, item: Item, criterion: Criterion, policy: str) -> float:
        """What an answer rests on: the better, the higher; variance 1 about the policy's effect."""
        place, shared = f"{item.session_id}\0{item.turn}", self.shared
        parts = (
            (shared.item, ("item", place)),
            (shared.annotator, ("annotator", annotator)),
            (shared.response, ("response", place, policy)),
            (shared.taste, ("taste", annotator, policy)),
        )
        of_all = sum(
            math.sqrt(share / 2) * (self._normal(*what) + self._normal(*what, criterion.name))
            for share, what in parts
            if share
        )
        own = math.sqrt(shared.own) * self._normal("own", annotator, item.item, policy, criterion.name)
        return self.effects.get(policy, 0.0) + of_all + own

    def _at_random(self, annotator: str, item: Item, criterion: Criterion) -> Value:
        """Clicked without reading."""

        def drawn(below: int, *what: str) -> int:
            return self._number("random", annotator, item.item, criterion.name, *what) % below

        if criterion.kind == "pair":
            return [one.id for one in lettered(annotator, self.study.settings.seed, item)][drawn(2)]
        if criterion.kind == "select":
            return sorted(one.id for one in item.responses if drawn(2, one.id))
        names = (
            [str(place) for place in item.positions] if criterion.kind == "turns" else [r.id for r in item.responses]
        )
        return {name: criterion.low + drawn(criterion.high - criterion.low + 1, name) for name in names}

    def _reason(self) -> str:
        asked = self.study.criteria.reason
        if asked is None or not asked.required:
            return ""
        return " ".join([REASON] * math.ceil(max(asked.least, 1) / len(REASON)))

    def _policy(self, item: Item, response: str) -> str:
        """Whose a response is; what an attention check made of one is nobody's."""
        policies: Mapping[Any, str] = self._policies  # type: ignore[attr-defined]
        return policies.get((item.item, response), "")

    def _normal(self, *what: str) -> float:
        return _NORMAL.inv_cdf((self._number(*what) + 0.5) / 2**52)

    def _number(self, *what: str) -> int:
        return int.from_bytes(hashlib.sha256("\0".join([str(self.seed), *what]).encode()).digest()[:8]) >> 12


def _on_scale(value: float, criterion: Criterion) -> int:
    """A normal number as a whole one on a scale, of which two standard deviations reach the ends."""
    middle, half = (criterion.low + criterion.high) / 2, (criterion.high - criterion.low) / 2
    better = -value if criterion.reversed else value
    return max(criterion.low, min(criterion.high, math.floor(middle + half * better / 2 + 0.5)))
