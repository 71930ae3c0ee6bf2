"""From a study's answers to its report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.resampling import Sampling
from apportion.foundation.optional_packages import check_installed
from apportion.foundation.truncate import counted
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import Key
from apportion.study.report.annotators import AnnotatorFigures, FlagRules, annotator_figures
from apportion.study.report.figures import agreement_with_people, as_one_voice, judge_of, study_table
from apportion.study.report.results import Judge, StudyReport, StudyTable, Times
from apportion.study.report.tables import Unblinded, unblinded
from apportion.study.rows import AnswerRow


def report_of(
    study: StudyFolder,
    key: Key,
    rows: Iterable[AnswerRow],
    judge: Iterable[AnswerRow] = (),
    *,
    base: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
    rules: FlagRules | None = None,
    mixed: bool = True,
) -> StudyReport:
    """All that is told of a study.

    - ``key``: whose response is which.
    - ``rows``: of people (and of simulated annotators, who are named as such).
    - ``judge``: of language models, ``judge:MODEL`` each; they are never counted among people.
    - ``base``: the policy that others are compared to, in place of the key's.
    - ``resamples``, ``seed``: of bootstraps.
    - ``rules``: when an annotator is flagged.
    - ``mixed``: whether mixed models are fitted, which takes longer than all else.

    Raises InputError: no answer that counts; no policy ``base``; answers or a key of another study.
    """
    check_installed(("krippendorff", "statsmodels"), "study", "A study's report")
    how, rows, asked = Sampling(resamples, seed), tuple(rows), tuple(judge)
    base = _base(key, base)
    people = unblinded(study, key, rows)
    if not people.rows and not asked:
        raise InputError(
            f"{study.path}: no answer yet to an item that counts, so there is nothing to report. Serve it with "
            "`apportion study serve`, or bring answers by `apportion study import`."
        )
    figures = annotator_figures(study, rows, people, rules)
    checks, failed = sum(one.checks for one in figures), sum(one.failed for one in figures)
    return StudyReport(
        study.settings.title,
        study.settings.version,
        base,
        key.policies,
        len(study.counted),
        len({row.item for row in people.rows}),
        study.settings.annotators_per_item,
        study.criteria.source,
        study_table(people, base, how, mixed=mixed),
        _unflagged(people, figures, base, how, mixed),
        figures,
        checks,
        failed,
        _times(people),
        _judges(study, key, asked, people, base, how),
        _notes(study, key, people, figures, base),
        sum(bool(row.reason) for row in people.rows),
    )


def _base(key: Key, named: str | None) -> str | None:
    if named is None or named in key.policies:
        return named or key.base
    advice = did_you_mean(named, key.policies, "Name one of them.")
    raise InputError(f"base {named!r}: no such policy; there are {', '.join(key.policies)}. {advice}")


def _unflagged(
    people: Unblinded, figures: Sequence[AnnotatorFigures], base: str | None, sampling: Sampling, mixed: bool
) -> StudyTable | None:
    """The table without flagged annotators; None where nobody is flagged, or all are."""
    kept = [one.annotator for one in figures if not one.flags]
    rest = people.of_annotators(kept)
    if len(kept) == len(figures) or not rest.rows:
        return None
    return study_table(rest, base, sampling, mixed=mixed)


def _times(people: Unblinded) -> Times | None:
    seconds = [row.seconds for row in people.rows if row.seconds > 0]
    if not seconds:
        return None
    low, middle, high = (float(value) for value in np.quantile(seconds, [0.25, 0.5, 0.75]))
    of_person: dict[str, float] = {}
    for row in people.rows:
        of_person[row.annotator] = of_person.get(row.annotator, 0.0) + row.seconds
    minutes = float(np.median(list(of_person.values()))) / 60
    return Times(low, middle, high, minutes, sum(row.focus_lost for row in people.rows))


def _judges(
    study: StudyFolder, key: Key, rows: Sequence[AnswerRow], people: Unblinded, base: str | None, sampling: Sampling
) -> tuple[Judge, ...]:
    found = []
    for name in dict.fromkeys(judge_of(row.annotator) for row in rows):
        answers = as_one_voice(unblinded(study, key, (row for row in rows if judge_of(row.annotator) == name)))
        table = study_table(answers, base, sampling, mixed=False)
        found.append(Judge(name, table, agreement_with_people(answers, people)))
    return tuple(found)


def _notes(
    study: StudyFolder, key: Key, people: Unblinded, figures: Sequence[AnnotatorFigures], base: str | None
) -> tuple[str, ...]:
    simulated = [one.annotator for one in figures if one.simulated]
    short = [
        item.item
        for item in study.counted
        if sum(row.item == item.item for row in people.rows) < study.settings.annotators_per_item
    ]
    same = [item.item for item in study.counted if item.same]
    some = [item.item for item in study.counted if item.alike and not item.same]
    everybody = len(simulated) == len(figures)
    notes = [
        f"Simulated annotators, no people: {'all' if everybody else len(simulated)} of {len(figures)} annotators are "
        "simulated. These figures say nothing of what people think."
        if simulated
        else "",
        f"Not finished: {counted(short, 'item')} of {len(study.counted):,} have fewer than "
        f"{study.settings.annotators_per_item} answers."
        if short and people.rows
        else "",
        f"Identical responses in {counted(same, 'item')}: nothing tells them apart." if same else "",
        f"Two or more of the responses are identical in {counted(some, 'item')}: nothing tells those apart."
        if some
        else "",
        "All annotators are flagged: there is no table without them."
        if figures and all(one.flags for one in figures)
        else "",
        "No base was named, so that nothing is compared: name one by --base."
        if base is None and len(key.policies) > 1
        else "",
    ]
    return tuple(note for note in notes if note)
