"""Trained policies beside each other, as SAVOIR reports them: Table 1 and Figures 6 to 8, of any rated episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from apportion.environments.report_tables.report import Report
from apportion.environments.report_tables.table import Cell, Table, Value
from apportion.environments.sotopia.reports.episode_scores import OVERALL, Seat, TaskId
from apportion.environments.sotopia.reports.models import (
    NO_MODELS,
    Scores,
    best_marked,
    models_only,
    value_or_lowest,
)
from apportion.environments.sotopia.reports.raters import HARD, PLAY, RatedEpisodes, titled
from apportion.environments.sotopia.reports.report import facts_of
from apportion.environments.sotopia.reports.social_methods import SAVOIR
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

REPORTED = {"GOAL": "GOAL", OVERALL: "AVG"}
"""The two dimensions of the tables, and what the paper calls them."""
NO_HARD = Missing("no file of hard tasks was given", HARD)
HEAD = "Trained policies in social episodes"


@dataclass(frozen=True)
class PolicyComparison:
    """What is told beside the episodes.

    ``hard``: Which tasks count as hard; None: not told. ``partner``: The fixed partner; None: whom most other agents
    met. ``sizes``: By agent how many annotations its reward model was trained on (Figure 8).
    """

    hard: Collection[TaskId] | None = None
    partner: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)


def trained_report(rated: RatedEpisodes, compared: PolicyComparison, sampling: Sampling) -> Report:
    """All of these tables. Raises InputError: nobody plays who is called as the partner, or as an agent with a size."""
    found = models_only(rated)
    for name in (*([compared.partner] if compared.partner else []), *compared.sizes):
        if name not in found:
            known = f"there are {', '.join(found)}" if found else NO_MODELS
            raise InputError(f"nobody plays who is called {name!r}: {did_you_mean(name, found, known)}")
    partner = compared.partner or most_met(found)
    tables = (
        table_1(rated, compared, partner, sampling),
        by_partner(rated, compared, sampling),
        by_size(rated, compared, partner, sampling),
    )
    return Report(facts_of(rated, sampling), tables, HEAD)


def most_met(found: Mapping[str, Sequence[Seat]]) -> str | None:
    """Whom most other agents have for their only partner; of equals the first by name. None: nobody has another."""
    met: Counter[str] = Counter()
    for agent, seats in found.items():
        met.update({partner for seat in seats if (partner := only_partner(seat)) is not None} - {agent})
    return min(met, key=lambda name: (-met[name], name), default=None)


def only_partner(seat: Seat) -> str | None:
    """Who played everybody else; None: several did, or it is not told."""
    others = set(seat.partners)
    return others.pop() if len(others) == 1 else None


def table_1(rated: RatedEpisodes, compared: PolicyComparison, partner: str | None, sampling: Sampling) -> Table:
    """Every agent with itself and with the fixed partner, on all tasks and on hard ones: GOAL and AVG."""
    title = f"Table 1 of SAVOIR: self-play and a fixed partner, by judge {titled(rated.judge)}"
    found = models_only(rated)
    columns: list[str] = []
    cells: list[list[Cell]] = []
    settings = {"Self-play": None, **({f"With {partner or 'a partner'}": partner} if partner or not found else {})}
    for name, other in settings.items():
        for tasks in ("all", "hard"):
            for dimension, called in REPORTED.items():
                columns.append(f"{name}, {tasks}: {called}")
                if tasks == "hard" and compared.hard is None:
                    cells.append([NO_HARD] * len(found))
                    continue
                chosen = {agent: beside(seats, agent if other is None else other) for agent, seats in found.items()}
                if tasks == "hard":
                    chosen = {agent: _hard(seats, compared) for agent, seats in chosen.items()}
                cells.append(column(chosen, dimension, rated, sampling))
    rows = tuple((agent, *(column[place] for column in cells)) for place, agent in enumerate(found))
    rows += SAVOIR.missing(found, len(columns))
    notes = (
        "mean [95 % interval], n parts; AVG is the mean of all seven dimensions. Both parts of self-play count, and "
        "intervals draw whole episodes. * the best, where it differs from the second best (Student's t-test)",
        *([] if partner is None else [f"the row of {partner} with itself is there twice, as GPT-4o's in the paper"]),
    )
    return Table("savoir_table_1", title, ("Agent", *columns), rows, notes)


def by_partner(rated: RatedEpisodes, compared: PolicyComparison, sampling: Sampling) -> Table:
    """Figures 6 and 7: every agent against each other partner, and how far it falls below its best one."""
    where = "all tasks" if compared.hard is None else "hard tasks"
    title = f"Figures 6 and 7 of SAVOIR: partners, on {where}, by judge {titled(rated.judge)}"
    rows: list[tuple[Cell, ...]] = []
    for agent, seats in models_only(rated).items():
        chosen = seats if compared.hard is None else _hard(seats, compared)
        partners = sorted({one for seat in chosen if (one := only_partner(seat)) is not None and one != agent})
        figures = {
            (partner, dimension): Scores.of(beside(chosen, partner), dimension, rated.judged).mean(sampling)
            for partner in partners
            for dimension in REPORTED
        }
        best = max((f.value for (_, d), f in figures.items() if d == "GOAL" and isinstance(f, Value)), default=None)
        order = sorted(partners, key=lambda name: -value_or_lowest(figures[name, "GOAL"]))
        rows += [
            (agent, partner, *(figures[partner, one] for one in REPORTED), _change(figures[partner, "GOAL"], best))
            for partner in order
        ]
    if not rows:
        return Table("savoir_figure_7", title, absent="no agent played with another one there", fill=PLAY)
    columns = ("Agent", "Partner", *REPORTED.values(), "GOAL beside its best, %")
    notes = ("partners in the order of what the agent reaches with them; the change is of means, without a test",)
    return Table("savoir_figure_7", title, columns, tuple(rows), notes, naming=2, decimals=2)


def by_size(rated: RatedEpisodes, compared: PolicyComparison, partner: str | None, sampling: Sampling) -> Table:
    """Figure 8: agents whose reward models learned from more and more annotations."""
    where = "all tasks" if compared.hard is None else "hard tasks"
    title = f"Figure 8 of SAVOIR: annotations of the reward model, on {where}, by {titled(rated.judge)}"
    if not compared.sizes:
        return Table(
            "savoir_figure_8", title, absent="no agent's number of annotations was given", fill="--size AGENT=N"
        )
    if partner is None:
        return Table("savoir_figure_8", title, absent="no agent played with another one", fill=PLAY)
    found = models_only(rated)
    rows = []
    for agent, size in sorted(compared.sizes.items(), key=lambda item: (item[1], item[0])):
        chosen = beside(found[agent], partner)
        chosen = chosen if compared.hard is None else _hard(chosen, compared)
        rows.append((size, agent, *(Scores.of(chosen, one, rated.judged).mean(sampling) for one in REPORTED)))
    notes = (f"with {partner} as the partner; the paper calls them episodes in 5.3 and annotations in appendix D",)
    return Table("savoir_figure_8", title, ("Annotations", "Agent", *REPORTED.values()), tuple(rows), notes, naming=2)


def column(
    chosen: Mapping[str, Sequence[Seat]], dimension: str, rated: RatedEpisodes, sampling: Sampling
) -> list[Cell]:
    """What each agent has in its chosen parts, the best marked."""
    return best_marked({agent: Scores.of(seats, dimension, rated.judged) for agent, seats in chosen.items()}, sampling)


def beside(seats: Sequence[Seat], partner: str) -> list[Seat]:
    """The parts in which one partner plays everybody else."""
    return [seat for seat in seats if only_partner(seat) == partner]


def _hard(seats: Sequence[Seat], compared: PolicyComparison) -> list[Seat]:
    return [seat for seat in seats if compared.hard is not None and seat.task in compared.hard]


def _change(figure: Cell, best: float | None) -> Cell:
    if not isinstance(figure, Value) or best is None or best <= 0:
        return Missing("no GOAL above 0 to compare with")
    return 100 * (figure.value / best - 1)
