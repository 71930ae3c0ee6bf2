"""Who answered, how, and whom one should look at before believing a table: attention, pace, variety, agreement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from apportion.evaluation.human_agreement.reliability import kappas_with_others
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.design.randomization import lettered
from apportion.study.report.tables import Unblinded
from apportion.study.rows import AnswerRow
from apportion.study.simulated_annotators import is_simulated


@dataclass(frozen=True)
class FlagRules:
    """When an annotator is flagged. They are set before the answers are seen: the defaults, or a reader's own.

    - ``failed_checks``: at least this share of the attention checks failed, and at least one.
    - ``hasty``: a median time an item below this share of the annotators' median, or below the study's
      ``least_seconds``.
    - ``alike_items``: the same answer to all criteria, or the same letters, on all of at least so many items.
    - ``apart``: an agreement with the others below the annotators' median by more than so many of their median absolute
      deviations (times 1.4826, as of a normal number), and below a half of that median; of at least 5 annotators.
    """

    failed_checks: float = 0.5
    hasty: float = 1 / 3
    alike_items: int = 8
    apart: float = 3.0


LEAST_ANNOTATORS = 5
"""Of fewer, nobody's agreement is said to be unlike the others'."""
MAD_TO_SD = 1.4826


@dataclass(frozen=True)
class AnnotatorFigures:
    """One annotator: items answered, attention checks, pace, agreement with the others; ``flags`` in words.

    ``seconds`` is the median time an item that counts; ``kappa`` None where nobody else judged the same.
    """

    annotator: str
    simulated: bool
    items: int
    checks: int
    failed: int
    seconds: float | None
    focus_lost: int
    kappa: float | None
    flags: tuple[str, ...]


def annotator_figures(
    study: StudyFolder, rows: Iterable[AnswerRow], answers: Unblinded, rules: FlagRules | None = None
) -> tuple[AnnotatorFigures, ...]:
    """Everybody who answered anything that counts or checks, by id.

    ``rows``: all of them: those that count and the attention checks. ``answers``: of the same rows.
    """
    how = rules or FlagRules()
    of_person: dict[str, list[AnswerRow]] = defaultdict(list)
    for row in rows:
        of_person[row.annotator].append(row)
    counted = {item.item for item in study.counted}
    kappas = {
        answers.annotators[number]: found
        for number, found in kappas_with_others({name: one.judged for name, one in answers.criteria.items()}).items()
    }
    paces = {
        name: _median([row.seconds for row in own if row.item in counted and row.seconds > 0])
        for name, own in of_person.items()
    }
    typical = _median([pace for pace in paces.values() if pace is not None])
    lowest = _fence([kappa for kappa in kappas.values() if kappa is not None], how)
    figures = []
    for name, own in sorted(of_person.items()):
        judged = [row for row in own if row.item in counted]
        checked = [row for row in own if row.item in study.checks]
        failed = sum(not study.checks[row.item].passed(row.answers) for row in checked)
        kappa, pace = kappas.get(name), paces[name]
        flags = [
            f"failed {failed} of {len(checked)} attention checks"
            if failed and failed >= how.failed_checks * len(checked)
            else "",
            f"took {pace:.0f} s an item, where the median annotator took {typical:.0f} s"
            if pace is not None
            and typical is not None
            and pace < max(how.hasty * typical, study.settings.least_seconds)
            else "",
            _alike(study, judged, how.alike_items),
            f"agrees less with the others (kappa {kappa:.2f}) than they do among themselves"
            if kappa is not None and lowest is not None and kappa < lowest
            else "",
        ]
        figures.append(
            AnnotatorFigures(
                name,
                is_simulated(name),
                len(judged),
                len(checked),
                failed,
                pace,
                sum(row.focus_lost for row in own),
                kappa,
                tuple(flag for flag in flags if flag),
            )
        )
    return tuple(figures)


def _fence(kappas: Sequence[float], rules: FlagRules) -> float | None:
    """The agreement below which one is unlike the others."""
    if len(kappas) < LEAST_ANNOTATORS:
        return None
    middle = median(kappas)
    spread = MAD_TO_SD * median(abs(kappa - middle) for kappa in kappas)
    return min(middle - rules.apart * spread, middle / 2)


def _alike(study: StudyFolder, rows: Sequence[AnswerRow], least: int) -> str:
    """What is said of one who gave the same answer, or the same letters, to every item."""
    if len(rows) < least:
        return ""
    by_value, by_place = (
        {tuple(describe(study, criterion, row) for criterion in study.criteria.criteria) for row in rows}
        for describe in (_values, _letters)
    )
    if len(by_value) == 1:
        return f"gave the same answer to all {len(rows)} items"
    return f"chose the same letters in all {len(rows)} items" if len(by_place) == 1 else ""


def _values(study: StudyFolder, criterion: Criterion, row: AnswerRow) -> object:
    """An answer without what it was given to: all or none marked, one number for everything, a tie; else itself."""
    given = row.answers.get(criterion.name)
    if isinstance(given, Mapping):
        different = set(given.values())
        return different.pop() if len(different) == 1 else tuple(sorted(given.items()))
    if isinstance(given, list):
        many = len(study.items[row.item].responses)
        return {0: "none", many: "all"}.get(len(given), tuple(given))
    return given


def _letters(study: StudyFolder, criterion: Criterion, row: AnswerRow) -> object:
    """An answer by the letters under which the annotator saw the responses."""
    item = study.items[row.item]
    shown = [response.id for response in lettered(row.annotator, study.settings.seed, item)]
    given = row.answers.get(criterion.name)
    if isinstance(given, Mapping):
        places = shown if criterion.kind == "rating" else sorted(given)
        return tuple(given.get(place) for place in places)
    if isinstance(given, list):
        return tuple(sorted(shown.index(response) for response in given if response in shown))
    return shown.index(given) if given in shown else given


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
