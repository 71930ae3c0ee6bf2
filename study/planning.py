"""A study's size as a person asks for it: what it finds, and how many items a difference needs, as text and data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.svg import ChartLine, line_chart
from apportion.foundation.tables.columns import columns
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.numbers import fixed
from apportion.study.all_answers import gathered
from apportion.study.design.criteria import Kind
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import Key, read_key
from apportion.study.power import (
    Components,
    Design,
    Power,
    components_of_answers,
    components_of_marks,
    components_of_ratings,
    items_needed,
    power,
    simulated_power,
    smallest_difference,
)
from apportion.study.report.page import framed, inert
from apportion.study.report.tables import unblinded
from apportion.study.simulated_annotators import INDEPENDENT, Shared

MARKS, RATINGS = (2.0, 3.0, 5.0, 7.0, 10.0, 13.0), (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""Differences that are told where none is asked for: points of a share, steps of a scale."""
POINTS = "points"
"""The unit of differences of shares."""
LARGEST_RATING = 10.0
"""No smallest difference above this is looked for."""


@dataclass(frozen=True)
class Plan:
    """What is planned. None: of the study that is planned for, else of LLM-GELI's Table 1.

    ``pilot``: the study that is named has answers, and how much they have in common is taken from them; ``known`` are
    such variances themselves.

    ``differences`` are points of a share (5 is 20 % to 25 %), or steps of a scale where ``sd`` is given; one below 0 is
    of a system that is worse than the base.

    Raises InputError: a difference that is 0 or no number; a power that no study has; simulated studies of ratings or
    of a pilot.
    """

    items: int | None = None
    per_item: int | None = None
    annotators: int | None = None
    systems: int | None = None
    criteria: int | None = None
    base_share: float = 0.2
    differences: tuple[float, ...] = ()
    sd: float | None = None
    independent: bool = False
    wanted: float = 0.8
    simulate: int | None = None
    pilot: bool = False
    known: Components | None = None

    def __post_init__(self) -> None:
        if self.simulate is not None and (self.pilot or self.sd is not None or self.known is not None):
            raise InputError("studies are simulated with marks, and with what is assumed: not of ratings or a pilot.")
        for difference in self.differences:
            if not (math.isfinite(difference) and difference):
                raise InputError(
                    f"a difference of {difference:g}: a number is needed, and not 0: above 0, the other is better than "
                    "the base; below 0, worse."
                )
        if not 0 < self.wanted < 1:
            raise InputError(f"a wanted power of {self.wanted:g}: it has to be above 0 and below 1.")


@dataclass(frozen=True)
class Told:
    """One difference: its power, and how many items it needs with as many items an annotator (None: too many).

    ``variances`` are those of an answer's difference of two systems, in shares or steps.
    """

    difference: float
    variances: Components
    power: Power
    counted: Power | None
    items_needed: int | None
    annotators_needed: int | None


@dataclass(frozen=True)
class Planned:
    """What a study of some size finds; ``smallest`` is the smallest difference with the wanted power, if any."""

    design: Design
    unit: str
    assumed: str
    wanted: float
    differences: tuple[Told, ...]
    smallest: float | None

    def corrected(self, told: Told, items: int) -> float:
        """The power after correction with so many items, and as many of them an annotator as here."""
        difference = told.difference / (100 if self.unit == POINTS else 1)
        return power(self.design.with_items(items), difference, told.variances).corrected

    @property
    def size(self) -> str:
        """How large the study is, on one line."""
        design = self.design
        return (
            f"{design.items:,} items, {design.per_item} of {design.annotators:,} annotators an item "
            f"({design.each:.4g} items each), {design.comparisons} comparisons to the base"
        )

    @property
    def least(self) -> str:
        """The smallest difference that is told, on one line."""
        what = f"with a power of {self.wanted:g} after correction"
        if self.smallest is None:
            return (
                f"no difference that can be is told {what}: more items and annotators are needed, or fewer comparisons"
            )
        return f"smallest difference {what}: {fixed(self.smallest, 2)} {self.unit}"

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return asdict(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the columns of `rows` are."""
        return (
            f"items, annotators: how many give that power, with {self.design.each:.4g} items an annotator",
            "corrected: Holm's for all comparisons; what is told is the least that it can be",
            *(["counted: on simulated studies (simulated annotators, no people)"] if self._is_counted else []),
        )

    @property
    def rows(self) -> list[list[str]]:
        """A header, and a row a difference."""
        counted = ["counted", "corrected"] if self._is_counted else []
        return [[self.unit, "power", "corrected", *counted, "items", "annotators"], *map(self._row, self.differences)]

    def text(self) -> str:
        """As a person reads it."""
        return "\n".join([self.size, f"assumed: {self.assumed}", "", *columns(self.rows), "", self.least, *self.notes])

    @property
    def _is_counted(self) -> bool:
        return any(told.counted for told in self.differences)

    def _row(self, told: Told) -> list[str]:
        powers = [told.power, *([told.counted] if told.counted else [])]
        needed = [
            f"{number:,}" if number is not None else "too many"
            for number in (told.items_needed, told.annotators_needed)
        ]
        return [
            f"{told.difference:g}",
            *(fixed(p, 2) for both in powers for p in (both.alone, both.corrected)),
            *needed,
        ]


def plan_of(study: Path, plan: Plan) -> Plan:
    """The plan with what it leaves out taken from a study's folder, and from its answers where it is a pilot. Raises
    InputError: it is no study, or asks for nothing that is planned for here; a pilot without a base, or without answers
    enough.
    """
    folder, key = StudyFolder.open(study), read_key(study)
    _check_kinds(folder, plan)
    settings = folder.settings
    items, per_item = plan.items or len(folder.counted), plan.per_item or settings.annotators_per_item
    people = math.ceil(items * per_item / settings.items_per_annotator)
    return replace(
        plan,
        items=items,
        per_item=per_item,
        annotators=plan.annotators or max(people, per_item, 2),
        systems=plan.systems or max(len(key.policies), 2),
        criteria=plan.criteria or len(folder.criteria.criteria),
        known=_of_pilot(folder, key, plan) if plan.pilot else plan.known,
    )


def _check_kinds(folder: StudyFolder, plan: Plan) -> None:
    """What is told is of several responses to an item that one answer marks, or rates, all of."""
    beside = {one.kind for one in folder.criteria.criteria if one.about != "dialogue"}
    if _kind(plan) in beside:
        return
    asked = ", ".join(dict.fromkeys(f"{one.kind} ({one.name})" for one in folder.criteria.criteria))
    if "rating" in beside:
        advice = "It rates responses: give --ratings SD, the standard deviation of a rating."
    elif "select" in beside:
        advice = "Leave out --ratings."
    else:
        advice = "Neither pairs, nor turns, nor ratings of one response are planned for: leave the study out."
    raise InputError(
        f"{folder.path}: it asks {asked}, and power is told of {_kind(plan)} of several responses. {advice}"
    )


def _kind(plan: Plan) -> Kind:
    return "select" if plan.sd is None else "rating"


def _of_pilot(folder: StudyFolder, key: Key, plan: Plan) -> Components:
    """Of differences of marks, or of ratings where the plan is of those."""
    if key.base is None:
        raise InputError(f"{folder.path}: a pilot needs a base to compare to, and this study named none.")
    answers = unblinded(folder, key, gathered(folder).people).criteria
    of_kind = {
        name: one.answers for name, one in answers.items() if one.criterion.kind == _kind(plan) and not one.apart
    }
    return components_of_answers(key.base, of_kind)


def planned(plan: Plan) -> Planned:
    """What the plan's study finds. Raises InputError: a size, a share or a difference that cannot be."""
    if plan.pilot and plan.known is None:
        raise InputError("a pilot is a study that has answers: name its folder.")
    design = Design(
        plan.items or 100,
        plan.per_item or 3,
        plan.annotators or 30,
        ((plan.systems or 8) - 1) * (plan.criteria or 9),
    )
    factor = 1.0 if plan.sd is not None else 100.0
    shared = INDEPENDENT if plan.independent else Shared()
    parts = _parts(plan, shared)
    most = LARGEST_RATING if plan.sd is not None else max(1 - plan.base_share - 0.01, (1 - plan.base_share) / 2)
    smallest = smallest_difference(design, parts, most, plan.wanted)
    told = []
    for points in plan.differences or _usual(plan):
        difference = points / factor
        if plan.sd is None and plan.known is None and not 0 < plan.base_share + difference < 1:
            raise InputError(
                f"a difference of {points:g} points from a base of {plan.base_share:.0%}: shares are above 0 and below "
                "100 %. Ask for a smaller one, or for another base."
            )
        variances = parts(difference)
        need = items_needed(design, difference, variances, plan.wanted)
        counted = None
        if plan.simulate is not None:
            counted = simulated_power(design, plan.base_share, plan.base_share + difference, shared, plan.simulate)
        people = None if need is None else design.with_items(need).annotators
        told.append(Told(points, variances, power(design, difference, variances), counted, need, people))
    return Planned(
        design,
        POINTS if factor > 1 else "steps",
        _assumed(plan, shared),
        plan.wanted,
        tuple(told),
        None if math.isinf(smallest) else factor * smallest,
    )


def _usual(plan: Plan) -> tuple[float, ...]:
    """The differences that are told where none is asked for: those that leave a share below 100 %, else losses."""
    if plan.sd is not None:
        return RATINGS
    return tuple(points for points in MARKS if plan.base_share + points / 100 < 1) or tuple(-points for points in MARKS)


def _parts(plan: Plan, shared: Shared) -> Callable[[float], Components]:
    def parts(difference: float) -> Components:
        if plan.known is not None:
            return plan.known
        if plan.sd is not None:
            return components_of_ratings(plan.sd, shared)
        return components_of_marks(plan.base_share, plan.base_share + difference, shared)

    return parts


def _assumed(plan: Plan, shared: Shared) -> str:
    if plan.known is not None:
        parts = plan.known
        return (
            f"variances of a difference as in the pilot: items {parts.item:.3g}, annotators {parts.annotator:.3g}, "
            f"answers {parts.rest:.3g}"
        )
    what = f"ratings with sd {plan.sd:g}" if plan.sd is not None else f"the base marked in {plan.base_share:.0%}"
    if plan.independent:
        return f"{what}; answers have nothing in common"
    return (
        f"{what}; of what an answer rests on {shared.item:.0%} is the item's, {shared.annotator:.0%} the annotator's, "
        f"{shared.response:.0%} the response's, {shared.taste:.0%} the annotator's taste (no paper tells them)"
    )


TITLE = "How large a study has to be"
SIZES = (0.5, 1, 2, 4, 8)
"""Numbers of items that are told, as multiples of the study's own."""
POINTS_A_CURVE, COLOURS = 60, 8
"""Points that a curve is drawn through; colours that the report's style has."""


def as_page(found: Planned) -> str:
    """The page as text; it holds no script and asks nothing of anybody."""
    header, *rows = found.rows
    colours = {_name(found, told): f"m{place % COLOURS}" for place, told in enumerate(found.differences)}
    own = Grid(
        "What this study finds", tuple(header), tuple(map(tuple, rows)), tuple(f"{note}." for note in found.notes)
    )
    values = {
        "size": found.size,
        "assumed": found.assumed,
        "least": found.least,
        "wanted": f"{found.wanted:g}",
        "legend": list(colours.items()),
        "colours": colours,
        "own": inert([own])[0],
        "sizes": inert([_sizes(found)])[0],
        "chart": _chart(found, colours),
    }
    return framed("plan.html", TITLE, values)


def _name(found: Planned, told: Told) -> str:
    return f"{told.difference:+g} {found.unit}".replace("-", "−")


def _sizes(found: Planned) -> Grid:
    """The power after correction, a row a difference, a column a number of items."""
    sizes = [max(2, round(found.design.items * factor)) for factor in SIZES]
    people = (f"{found.design.with_items(size).annotators:,}" for size in sizes)
    rows = [
        ("annotators", *people),
        *(
            (_name(found, told), *(fixed(found.corrected(told, size), 2) for size in sizes))
            for told in found.differences
        ),
    ]
    note = f"Power after correction, with {found.design.each:.4g} items an annotator; {found.wanted:g} is wanted."
    return Grid(
        "By how many items and annotators", ("difference", *(f"{size:,} items" for size in sizes)), tuple(rows), (note,)
    )


def _chart(found: Planned, colours: dict[str, str]) -> object:
    most = max(4, round(found.design.items * SIZES[-1]))
    items = sorted({max(2, round(most * step / POINTS_A_CURVE)) for step in range(1, POINTS_A_CURVE + 1)})
    lines = [
        ChartLine(name, items, [found.corrected(told, number) for number in items], colour)
        for (name, colour), told in zip(colours.items(), found.differences, strict=True)
    ]
    return line_chart(lines, "items", "Power after correction over the number of items, a curve a difference")
