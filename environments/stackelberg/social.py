"""Table 3 of the Stackelberg Speaker: SOTOPIA as the fourth game, GOAL and all seven dimensions beside one partner."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from apportion.environments.report_tables.table import Cell, Table
from apportion.environments.sotopia.reports.episode_scores import OVERALL, Seat, TaskId
from apportion.environments.sotopia.reports.models import NO_MODELS, Scores, best_marked, models_only
from apportion.environments.sotopia.reports.policies import most_met, only_partner
from apportion.environments.sotopia.reports.raters import RatedEpisodes, titled
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

DIMENSIONS = {"GOAL": "Goal", OVERALL: "Overall"}
NO_HARD = Missing("no file of hard tasks was given")


def table_3(
    rated: RatedEpisodes | None, hard: Collection[TaskId] | None, named: Sequence[str], sampling: Sampling
) -> Table:
    """Every agent beside one partner, on all and on hard tasks.

    Parameters
    ----------
    rated : RatedEpisodes, optional
        Social episodes with their ratings; None: there are none.
    hard : collection of TaskId, optional
        Which tasks count as hard; None: not told.
    named : sequence of str
        Whom agents are held against: the first of them that plays here is the partner, else whom most others met.
    sampling : Sampling
    """
    title = "Table 3 of the Stackelberg Speaker: SOTOPIA"
    if rated is None:
        return Table("table_3", title, absent="no corpus of social episodes was given")
    found = models_only(rated)
    partner = next((name for name in named if name in found), None) or most_met(found)
    if partner is None:
        return Table("table_3", title, absent=NO_MODELS if not found else "no agent met another one")
    columns: list[str] = []
    cells: list[list[Cell]] = []
    for tasks, chosen in (("all tasks", None), ("hard tasks", hard)):
        for dimension, name in DIMENSIONS.items():
            columns.append(f"{name}, {tasks}")
            if tasks == "hard tasks" and chosen is None:
                cells.append([NO_HARD] * len(found))
                continue
            scores = {
                agent: Scores.of(_beside(seats, partner, chosen), dimension, lambda seat, d: seat.score(rated.judge, d))
                for agent, seats in found.items()
            }
            cells.append(best_marked(scores, sampling))
    rows = tuple((agent, *(column[place] for column in cells)) for place, agent in enumerate(found))
    notes = (
        f"mean [95 % interval] beside {partner}, n parts, episodes drawn whole; Overall is the mean of all seven "
        "dimensions. * the best, where it differs from the second best (Student's t-test, p < 0.05)",
        "the paper's hard tasks are 90 of SOTOPIA's; here those of the file",
    )
    head = f"{title}, beside {partner}, by judge {titled(rated.judge)}"
    return Table("table_3", head, ("Method", *columns), rows, notes)


def _beside(seats: Sequence[Seat], partner: str, tasks: Collection[TaskId] | None) -> list[Seat]:
    return [seat for seat in seats if only_partner(seat) == partner and (tasks is None or seat.task in tasks)]
