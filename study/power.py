"""How many items and annotators tell a difference of so many points apart: the power of a study before it is begun.

The variance of a difference of two systems' means has three parts (items, annotators, single answers), each divided by
how many of them there are; the test is that of `apportion.evaluation.human_agreement.two_way_anova`, a t with one less
degree of freedom than the fewer of items and annotators has. What the parts are is not known before: they follow from
what answers are assumed to share (`apportion.study.simulated_annotators.Shared`), or from a study that was done
(`components_of_answers`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.comparison import compare_to
from apportion.evaluation.human_agreement.mixed_model import mixed_mean
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.resampling import Sampling
from apportion.foundation.optional_packages import check_installed
from apportion.study.simulated_annotators import Shared, assigned, simulated_marks

NODES = 400
"""Of the Gauss-Legendre quadrature."""
FAR = 9.0
"""Standard deviations beyond which a normal number counts for nothing (less than 1e-18)."""
MANY = 500
"""Degrees of freedom from which on the denominator, narrow by then, is integrated over, and not the numerator."""


def noncentral_t_above(bound: float, freedom: float, shift: float) -> float:
    """The probability that (Z + shift) / sqrt(V / freedom) > bound, Z normal and V chi-squared with ``freedom``.

    scipy's own (`scipy.stats.nct`) is not a number in its far tail at some values, such as that below -3.5 of 128
    degrees of freedom shifted by 5; it is what this is held to elsewhere.

    ``bound``: above 0. ``freedom``: above 0.

    >>> round(noncentral_t_above(2.0, 10, 0.0), 6)
    0.036694
    """
    from scipy.stats import chi, chi2, norm

    nodes, weights = _quadrature()
    if freedom > MANY:
        half = (FAR + 1) / math.sqrt(2 * freedom)
        scale = 1 + half * nodes  # Of sqrt(V / freedom), which is about 1.
        density = chi.pdf(scale * math.sqrt(freedom), freedom) * math.sqrt(freedom)
        return float(half * (weights * density) @ norm.cdf(shift - bound * scale))
    low = max(-FAR, -shift)
    if low >= FAR:
        return 0.0
    half = (FAR - low) / 2
    numerator = (FAR + low) / 2 + half * nodes
    below = chi2.cdf(freedom * ((numerator + shift) / bound) ** 2, freedom)
    return float(half * (weights * norm.pdf(numerator)) @ below)


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Places from -1 to 1, and what each weighs."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


MOST_ITEMS = 100_000
LEVEL = 0.05


@dataclass(frozen=True)
class Design:
    """How large a study is: every item is answered by ``per_item`` of the ``annotators``.

    ``comparisons`` is how many differences its table has (systems but the base, times criteria).

    Raises InputError: fewer than two items or annotators, or more answers to an item than annotators.
    """

    items: int
    per_item: int
    annotators: int
    comparisons: int = 1

    def __post_init__(self) -> None:
        if min(self.items, self.annotators) < 2:
            raise InputError(f"{self.items} items, {self.annotators} annotators: at least 2 of both are needed.")
        if not 1 <= self.per_item <= self.annotators:
            raise InputError(
                f"{self.per_item} answers to an item of {self.annotators} annotators: 1 to {self.annotators} can be."
            )
        if self.comparisons < 1:
            raise InputError(f"{self.comparisons} comparisons: at least 1 is needed.")

    @property
    def each(self) -> float:
        """Items that one annotator answers."""
        return self.items * self.per_item / self.annotators

    def with_items(self, items: int) -> Design:
        """As many items an annotator, and answers an item, of more or fewer items."""
        people = max(2, self.per_item, math.ceil(items * self.per_item / self.each - 1e-9))
        return replace(self, items=items, annotators=people)


@dataclass(frozen=True)
class Components:
    """Variances of one answer's difference of two systems: between items, between annotators, and the rest."""

    item: float
    annotator: float
    rest: float

    def error(self, design: Design) -> float:
        """The standard error of the mean difference."""
        answers = design.items * design.per_item
        return math.sqrt(self.item / design.items + self.annotator / design.annotators + self.rest / answers)


@dataclass(frozen=True)
class Power:
    """How likely a true difference is told from none: by its own test, and at least, after Holm's correction."""

    alone: float
    corrected: float


def components_of_marks(base: float, other: float, shared: Shared) -> Components:
    """Of marks of two systems with these true shares. Raises InputError: a share that is not above 0 and below 1."""
    for share in (base, other):
        if not 0 < share < 1:
            raise InputError(f"a share of marks of {share:g}: it has to be above 0 and below 1.")

    def covariance(of_one: float, of_two: float) -> float:
        """Of differences whose latent numbers correlate so within a system, and between the two."""
        same = _both(base, base, of_one) - base**2 + _both(other, other, of_one) - other**2
        return same - 2 * (_both(base, other, of_two) - base * other)

    item = covariance(shared.item + shared.response, shared.item)
    annotator = covariance(shared.annotator + shared.taste, shared.annotator)
    both = _both(base, other, shared.item + shared.annotator) - base * other
    whole = base * (1 - base) + other * (1 - other) - 2 * both
    # The parts do not add up exactly: a product of an item's and an annotator's effects falls to the answer.
    return Components(max(item, 0.0), max(annotator, 0.0), max(whole - item - annotator, 0.0))


def components_of_ratings(sd: float, shared: Shared) -> Components:
    """Of ratings of two systems, each with this standard deviation between answers. Raises InputError: a deviation that
    is not above 0.
    """
    if not (sd > 0 and math.isfinite(sd)):
        raise InputError(f"a standard deviation of {sd:g}: it has to be above 0.")
    return Components(2 * sd**2 * shared.response, 2 * sd**2 * shared.taste, 2 * sd**2 * shared.own)


def components_of_answers(base: str, criteria: Mapping[str, Answers]) -> Components:
    """The mean components of all differences to the base in a study that was done, by mixed models. Raises InputError:
    no difference has answers enough.
    """
    fits = [
        mixed_mean(answers.values[:, k] - answers.values[:, answers.place(base)], answers.items, answers.annotators)
        for answers in criteria.values()
        for k, system in enumerate(answers.systems)
        if system != base
    ]
    found = np.array([(f.item_variance, f.annotator_variance, f.residual_variance) for f in fits if f is not None])
    if not len(found):
        raise InputError("no difference of this study has answers enough to tell items, annotators and the rest apart.")
    item, annotator, rest = (float(mean) for mean in found.mean(axis=0))
    return Components(item, annotator, rest)


def power(design: Design, difference: float, components: Components) -> Power:
    """How likely a study of that size tells a true difference, in the units of `Components`.

    The corrected one takes the level for the first of all comparisons: Holm's later steps ask for less, so that it is
    the least that can be had.
    """
    return Power(
        _told(design, difference, components, LEVEL), _told(design, difference, components, LEVEL / design.comparisons)
    )


def smallest_difference(design: Design, components: Callable[[float], Components], most: float, wanted: float) -> float:
    """The smallest difference that is told after correction with a power of ``wanted``; infinite where none up to
    ``most`` is.

    ``components`` gives the variances at a difference.
    """

    def enough(difference: float) -> bool:
        return power(design, difference, components(difference)).corrected >= wanted

    low, high = 0.0, most
    if not enough(high):
        return math.inf
    while high - low > 1e-4 * most:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def items_needed(design: Design, difference: float, components: Components, wanted: float) -> int | None:
    """How many items such a design needs, with as many items an annotator; None where `MOST_ITEMS` are too few."""

    def enough(items: int) -> bool:
        return power(design.with_items(items), difference, components).corrected >= wanted

    low, high = 2, 4
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_ITEMS:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def simulated_power(design: Design, base: float, other: float, shared: Shared, studies: int, seed: int = 0) -> Power:
    """The same of marks, counted: studies are drawn and judged as a report judges them (simulated annotators).

    All comparisons but one are of systems with the base's share, as in the worst case of the correction.
    """
    if studies < 1:
        raise InputError(f"{studies} simulated studies: at least 1 is needed.")
    check_installed(("statsmodels",), "study", "A simulated study")
    rng = np.random.default_rng(seed)
    names = ("base", *(f"s{k}" for k in range(design.comparisons)))
    shares = np.array([base, other, *[base] * (design.comparisons - 1)])[:, None]
    alone = corrected = 0
    for _ in range(studies):
        items, people = assigned(design.items, design.per_item, design.annotators, rng)
        marks = simulated_marks(shares, shared, items, people, rng)[:, :, 0]
        first = compare_to("base", {"c": Answers(names, items, people, marks)}, Sampling(resamples=1))[0]
        alone += int(first.difference.p is not None and first.difference.p < LEVEL)
        corrected += int(first.p_holm is not None and first.p_holm < LEVEL)
    return Power(alone / studies, corrected / studies)


def _told(design: Design, difference: float, components: Components, level: float) -> float:
    from scipy.stats import t

    freedom = min(design.items, design.annotators) - 1
    error = components.error(design)
    if error == 0:
        return 1.0 if difference else level
    bound, shift = float(t.isf(level / 2, freedom)), abs(difference) / error
    return min(1.0, noncentral_t_above(bound, freedom, shift) + noncentral_t_above(bound, freedom, -shift))


def _both(first: float, second: float, correlation: float) -> float:
    """How often two marks with these shares come together, where what they rest on correlates so."""
    from scipy.stats import multivariate_normal, norm

    if correlation == 0:
        return first * second
    bounds = norm.ppf([first, second])
    return float(multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(bounds))
