"""What came of a study, as data: tables, annotators, times, a judge beside; the formats only write it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion.evaluation.human_agreement.comparison import SystemComparisons
from apportion.evaluation.human_agreement.proportions import SplitMean
from apportion.study.design.criteria import Kind
from apportion.study.report.annotators import AnnotatorFigures

SPLITS = 3
"""As LLM-GELI's tables have it."""


@dataclass(frozen=True)
class Cell:
    """What people said of one system by one criterion.

    ``value`` is a share of marks or of preferences (ties count half) from 0 to 1, or a mean rating, of ``answers``
    answers on ``items`` items; ``splits`` is its mean and sd over three splits of the items. None: no answer, too few
    items, or no interval where there are too few of anything.
    """

    system: str
    value: float | None
    low: float | None
    high: float | None
    answers: int
    items: int
    splits: SplitMean | None


@dataclass(frozen=True)
class CriterionTable:
    """One criterion: a cell a system, and whether annotators agree on it.

    ``scale`` are the ends of the values: 0 and 1 of shares, else the rating's own.
    """

    criterion: str
    question: str
    kind: Kind
    reversed: bool
    scale: tuple[int, int]
    cells: tuple[Cell, ...]
    alpha: float | None

    @property
    def is_share(self) -> bool:
        """Whether values are shares, told in percent."""
        return self.kind in ("select", "pair")


@dataclass(frozen=True)
class PairCell:
    """How often ``system`` was preferred to ``other`` where both were shown, ties half; with its interval."""

    criterion: str
    system: str
    other: str
    value: float
    low: float | None
    high: float | None
    answers: int
    ties: int


@dataclass(frozen=True)
class StudyTable:
    """The tables of some annotators: everybody, those whom nothing flags, or a judge.

    ``compared`` are differences to the base, corrected together; empty where no base was named. ``uncompared`` are
    systems (criterion, system) that no answer judges beside the base.
    """

    annotators: int
    answers: int
    criteria: tuple[CriterionTable, ...]
    compared: tuple[SystemComparisons, ...]
    uncompared: tuple[tuple[str, str], ...]
    pairs: tuple[PairCell, ...]

    def difference(self, criterion: str, system: str) -> SystemComparisons | None:
        """A system less the base; None for the base itself and where there is none."""
        found = (one for one in self.compared if (one.criterion, one.system) == (criterion, system))
        return next(found, None)


@dataclass(frozen=True)
class JudgeAgreement:
    """How far a judge agrees with people on one criterion.

    ``kappa`` is with each person who judged the same, ``people_kappa`` that of people among themselves; ``alpha_with``
    is Krippendorff's of people and the judge as one more annotator, ``alpha_people`` that without; ``correlation`` is
    Pearson's of the systems' means, ``rank_correlation`` Spearman's, None with fewer than three systems.
    """

    criterion: str
    kappa: float | None
    people_kappa: float | None
    alpha_with: float | None
    alpha_people: float | None
    correlation: float | None
    rank_correlation: float | None
    systems: int


@dataclass(frozen=True)
class Judge:
    """A language model's answers to the same questions: a table of its own, and how it agrees with people."""

    name: str
    table: StudyTable
    agreement: tuple[JudgeAgreement, ...]


@dataclass(frozen=True)
class Times:
    """Seconds an item that counts: quartiles over answers; minutes an annotator in all, the median."""

    low_s: float
    median_s: float
    high_s: float
    annotator_minutes: float
    focus_lost: int


@dataclass(frozen=True)
class StudyReport:
    """All that is told of a study.

    ``base`` is the policy that others are compared to; ``unflagged`` is the table without annotators whom anything
    flags, None where nobody is flagged or nobody is left; ``notes`` have to be read before the figures.
    """

    title: str
    version: int
    base: str | None
    systems: tuple[str, ...]
    items: int
    answered_items: int
    wanted_per_item: int
    source: str
    people: StudyTable
    unflagged: StudyTable | None
    annotators: tuple[AnnotatorFigures, ...]
    checks: int
    failed_checks: int
    times: Times | None
    judges: tuple[Judge, ...]
    notes: tuple[str, ...]
    reasons: int

    @property
    def flagged(self) -> tuple[AnnotatorFigures, ...]:
        """Annotators whom anything flags."""
        return tuple(one for one in self.annotators if one.flags)

    @property
    def simulated(self) -> int:
        """How many annotators are simulated."""
        return sum(one.simulated for one in self.annotators)

    @property
    def colours(self) -> Mapping[str, str]:
        """A class of the page's colours for each system."""
        return {system: f"m{place % 9}" for place, system in enumerate(self.systems)}
