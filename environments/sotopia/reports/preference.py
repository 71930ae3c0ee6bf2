"""Figure 9 of SAVOIR from what people have answered: strategicness by agent, and which credit they prefer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from statistics import stdev

from apportion.environments.report_tables.table import Cell, Table, mean
from apportion.environments.sotopia.evaluation.human_ratings.credit_form import (
    ANSWERS,
    FAIRNESS,
    FOUNDATION,
    STRATEGICNESS,
    Answered,
)
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

ASK = "apportion world tables savoir-people CORPUS --rewards FILE --export FOLDER, then --answers NAME=FILE"
NOT_ANSWERED = Missing("nobody answered it", ASK)
TIE = "tie"


def fleiss_kappa(counts: Sequence[Mapping[str, int]]) -> float | Missing:
    """Agreement of several raters beyond chance (Fleiss, 1971).

    ``counts``: A rated thing each: how many raters chose each category; those with one rater, or with fewer than the
    most have, are left out, since the coefficient is of equally many.

    >>> fleiss_kappa([{"a": 2}, {"b": 2}])
    1.0
    """
    raters = max((sum(one.values()) for one in counts), default=0)
    whole = [one for one in counts if sum(one.values()) == raters]
    if raters < 2 or len(whole) < 2:
        return Missing("fewer than two things that two people answered")
    total: Counter[str] = Counter()
    for one in whole:
        total.update(one)
    agreed = fsum((sum(n * n for n in one.values()) - raters) / (raters * (raters - 1)) for one in whole) / len(whole)
    chance = fsum((n / (len(whole) * raters)) ** 2 for n in total.values())
    if chance == 1:
        return Missing("everybody gave one and the same answer: chance alone would agree")
    return (agreed - chance) / (1 - chance)


def figure_9(
    answers: Sequence[Answered], agents: Mapping[tuple[str, str], str], ways: Sequence[str], sampling: Sampling
) -> tuple[Table, Table]:
    """Strategicness by agent, and how often each way of credit is preferred.

    ``answers``: By several people. ``agents``: By session and person who played it; others are "not named". ``ways``:
    The two ways of credit that were compared. ``sampling``: Of intervals.
    """
    return _strategic(answers, agents, sampling), _preferred(answers, ways, sampling)


def _strategic(answers: Sequence[Answered], agents: Mapping[tuple[str, str], str], sampling: Sampling) -> Table:
    title = "Figure 9 of SAVOIR, left: strategicness by people, 1 to 5"
    by_agent: dict[str, list[Answered]] = {}
    for one in answers:
        if one.question == STRATEGICNESS:
            by_agent.setdefault(agents.get((one.session, one.person), "not named"), []).append(one)
    if not by_agent:
        return Table("savoir_figure_9_left", title, absent=NOT_ANSWERED.reason, fill=ASK)
    rows: list[tuple[Cell, ...]] = []
    for agent, given in sorted(by_agent.items()):
        scores = [float(one.answer) for one in given]
        spread: Cell = stdev(scores) if len(scores) > 1 else Missing("one answer alone")
        rows.append((agent, mean([one.session for one in given], scores, sampling), spread))
    notes = (f"mean [95 % interval] of every answer, n answers; {_agreement(answers, STRATEGICNESS)}",)
    return Table("savoir_figure_9_left", title, ("Agent", "Strategicness", "SD"), tuple(rows), notes)


def _preferred(answers: Sequence[Answered], ways: Sequence[str], sampling: Sampling) -> Table:
    title = f"Figure 9 of SAVOIR, right: {' or '.join(ways)}, by people who did not know which is which"
    rows: list[tuple[Cell, ...]] = []
    for question in (FAIRNESS, FOUNDATION):
        given = [one for one in answers if one.question == question]
        sessions = [one.session for one in given]
        shares = (
            mean(sessions, [float(one.answer == way) for one in given], sampling) if given else NOT_ANSWERED
            for way in (*ways, TIE)
        )
        rows.append((question, *shares))
    if not any(one.question in (FAIRNESS, FOUNDATION) for one in answers):
        return Table("savoir_figure_9_right", title, absent=NOT_ANSWERED.reason, fill=ASK)
    notes = (
        "shares [95 % interval] of answers, n answers; intervals draw whole episodes",
        *(_agreement(answers, question) for question in (FAIRNESS, FOUNDATION)),
    )
    return Table("savoir_figure_9_right", title, ("Question", *ways, "Tie"), tuple(rows), notes)


def _agreement(answers: Sequence[Answered], question: str) -> str:
    """Fleiss' kappa in words, over ways of credit: letters stand for different ones in different cases."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in answers:
        if one.question == question:
            counts.setdefault((one.session, one.person), Counter())[one.answer] += 1
    kappa = fleiss_kappa(list(counts.values()))
    told = f"not there, because {kappa.reason}" if isinstance(kappa, Missing) else f"{kappa:.2f}"
    return f"Fleiss' kappa of {question} ({len(ANSWERS[question])} answers to choose from): {told}"
