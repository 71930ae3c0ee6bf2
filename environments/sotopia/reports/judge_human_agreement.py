"""A judge beside people: Table 1, Figure 2, Tables G.1 and G.2 of SOTOPIA."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from apportion.environments.report_tables.figures import Figure, Value, mean
from apportion.environments.report_tables.table import Cell, Table, starred
from apportion.environments.sotopia.reports.episode_scores import Seat
from apportion.environments.sotopia.reports.raters import RatedEpisodes, titled
from apportion.environments.sotopia.reports.statistics import pearson
from apportion.environments.sotopia.reports.svg import histogram
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

ORDER = ("SEC", "KNO", "SOC", "BEL", "REL", "FIN", "GOAL")
"""Of Table 1."""
APPENDIX_ORDER = ("SOC", "SEC", "FIN", "REL", "KNO", "GOAL", "BEL")
"""Of Tables 2, G.1, G.2 and G.3."""
LEVELS = ((0.01, "**"), (0.05, "*"))
STARS = "Pearson's r of the judge's score and the mean of people's, [95 % interval], n pairs; ** p <= 0.01, * p <= 0.05"
WORDINGS = ("paper", "fine-grained")
NOBODY = "no annotator is named as a person"


@dataclass(frozen=True)
class Pairs:
    """Scores of the same persons by a judge and by people (mean), each from one of ``episodes``."""

    episodes: list[str]
    judge: list[float]
    people: list[float]

    @classmethod
    def of(
        cls, rated: RatedEpisodes, judge: str, dimension: str, wanted: Callable[[Seat], bool] = lambda seat: True
    ) -> Pairs:
        """Those in which both have rated."""
        pairs = cls([], [], [])
        for seat in rated.seats:
            ours, theirs = seat.score(judge, dimension), rated.human_score(seat, dimension)
            if ours is not None and theirs is not None and wanted(seat):
                pairs.episodes.append(seat.episode)
                pairs.judge.append(ours)
                pairs.people.append(theirs)
        return pairs

    def pearson(self, sampling: Sampling) -> Figure:
        """Their correlation."""
        return pearson(self.episodes, self.judge, self.people, sampling)


def table_1(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """Correlation of the judge with people by dimension, models and humans apart."""
    title = f"Table 1: Pearson's r between judge {titled(rated.judge)} and people"
    if not rated.people:
        return Table("table_1", title, absent=NOBODY)
    groups: dict[str, Callable[[Seat], bool]] = {
        "Models": lambda seat: seat.agent is not None and not rated.played_by_people(seat),
        "Humans": rated.played_by_people,
    }
    if any(seat.agent is None for seat in rated.seats):
        groups["Not told who"] = lambda seat: seat.agent is None
    rows = [
        (dim, *(_r(Pairs.of(rated, rated.judge, dim, wanted), sampling) for wanted in groups.values()))
        for dim in ORDER
    ]  # fmt: skip
    return Table("table_1", title, ("Dim.", *groups), tuple(rows), (STARS, "columns: who played the rated character"))


def figure_2(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """The distribution of the judge's score less people's."""
    title = f"Figure 2: score of judge {titled(rated.judge)} less the mean of people's"
    if not rated.people:
        return Table("figure_2", title, absent=NOBODY)
    by_dimension = {dim: Pairs.of(rated, rated.judge, dim) for dim in ORDER}
    every = Pairs(*([x for one in by_dimension.values() for x in getattr(one, name)] for name in Pairs.__annotations__))
    if not every.judge:
        return Table("figure_2", title, absent="the judge and people rated nobody both")
    rows = [(name, *_differences(pairs, sampling)) for name, pairs in {**by_dimension, "All seven": every}.items()]
    # Halves go up: to the next even number, as round() has it, every other bar would be too high.
    counts = Counter(math.floor(difference + 0.5) for difference in _less(every))
    columns = ("Dim.", "Mean difference", "SD", "Within one SD", "Judge higher", "Judge lower")
    notes = (
        "a person, episode and dimension each; all scales are 10 wide. Within one SD: the share of differences that "
        "are no further from 0 than their standard deviation; the others are split by who rates higher",
    )
    drawn = histogram(title, counts, "judge less people, rounded to whole numbers (halves up); how many")
    return Table("figure_2", title, columns, tuple(rows), notes, picture=drawn)


def table_g1(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """Correlation with people of several judges, on what models played."""
    title = "Table G.1: Pearson's r with people, by judge, on characters that models played"
    if not rated.people:
        return Table("table_g1", title, absent=NOBODY)
    if len(rated.judges) < 2:
        return Table("table_g1", title, absent=f"there is no second judge beside {titled(rated.judge)}")
    return _side_by_side("table_g1", title, rated, rated.judges, sampling)


def table_g2(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """The wordings ``paper`` and ``fine-grained`` of the same model."""
    title = "Table G.2: Pearson's r with people, by wording of the question, on characters that models played"
    if not rated.people:
        return Table("table_g2", title, absent=NOBODY)
    models = [judge.partition("@")[2] for judge in rated.judges if judge.partition("@")[0] == WORDINGS[0]]
    judges = [f"{wording}@{model}" for model in models for wording in WORDINGS if model]
    both = [judge for judge in judges if judge in rated.judges and _twin(judge) in rated.judges]
    if not both:
        return Table("table_g2", title, absent="no model judges in both wordings, paper@MODEL and fine-grained@MODEL")
    return _side_by_side("table_g2", title, rated, both, sampling)


def _twin(judge: str) -> str:
    wording, _, model = judge.partition("@")
    return f"{WORDINGS[1 - WORDINGS.index(wording)]}@{model}"


def _side_by_side(key: str, title: str, rated: RatedEpisodes, judges: Sequence[str], sampling: Sampling) -> Table:
    def models(seat: Seat) -> bool:
        return seat.agent is not None and not rated.played_by_people(seat)

    rows = [
        (dim, *(_r(Pairs.of(rated, judge, dim, models), sampling) for judge in judges))
        for dim in APPENDIX_ORDER
    ]  # fmt: skip
    return Table(key, title, ("Dim.", *judges), tuple(rows), (STARS,))


def _r(pairs: Pairs, sampling: Sampling) -> Cell:
    figure = pairs.pearson(sampling)
    return starred(figure, figure.p, LEVELS) if isinstance(figure, Value) else figure


def _less(pairs: Pairs) -> list[float]:
    return [ours - theirs for ours, theirs in zip(pairs.judge, pairs.people, strict=True)]


def _differences(pairs: Pairs, sampling: Sampling) -> list[Cell]:
    differences = _less(pairs)
    if not differences:
        return [Missing("the judge and people rated nobody both")] * 5
    spread = float(np.std(differences))
    inside = [float(abs(one) <= spread) for one in differences]
    higher = [float(one > spread) for one in differences]
    lower = [float(one < -spread) for one in differences]
    shares = [mean(pairs.episodes, share, sampling) for share in (inside, higher, lower)]
    sd = Value(spread, None, None, items=len(differences), episodes=len(set(pairs.episodes)))
    return [mean(pairs.episodes, differences, sampling), sd, *shares]
