"""A judge beside people: Table 1, Figure 2, Tables G.1 and G.2 of SOTOPIA."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.report_tables.chart import Span, histogram, spans
from apportion.environments.report_tables.table import Cell, Figure, Table, Value, mean, starred
from apportion.environments.sotopia.reports.episode_scores import Seat
from apportion.environments.sotopia.reports.raters import JUDGE, PEOPLE, SECOND, RatedEpisodes, titled
from apportion.environments.sotopia.reports.statistics import binned, pearson, randolph
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

ORDER = ("SEC", "KNO", "SOC", "BEL", "REL", "FIN", "GOAL")
"""Of Table 1."""
APPENDIX_ORDER = ("SOC", "SEC", "FIN", "REL", "KNO", "GOAL", "BEL")
"""Of Tables 2, G.1, G.2 and G.3."""
LEVELS = ((0.01, "**"), (0.05, "*"))
STARS = "Pearson's r of the judge's score and the mean of people's, [95 % interval], n pairs; ** p <= 0.01, * p <= 0.05"
WORDINGS = ("paper", "fine-grained")
NO_WORDINGS = "no model judges in both wordings, paper@MODEL and fine-grained@MODEL"
NOBODY = "no annotator is named as a person"
NOT_BOTH = Missing("the judge and people rated nobody both", PEOPLE)


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
        return Table("table_1", title, absent=NOBODY, fill=PEOPLE)
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
        return Table("figure_2", title, absent=NOBODY, fill=PEOPLE)
    by_dimension = {dim: Pairs.of(rated, rated.judge, dim) for dim in ORDER}
    every = Pairs(*([x for one in by_dimension.values() for x in getattr(one, name)] for name in Pairs.__annotations__))
    if not every.judge:
        return Table("figure_2", title, absent=NOT_BOTH.reason, fill=NOT_BOTH.fill)
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
        return Table("table_g1", title, absent=NOBODY, fill=PEOPLE)
    if len(rated.judges) < 2:
        return Table("table_g1", title, absent=f"there is no second judge beside {titled(rated.judge)}", fill=JUDGE)
    return _side_by_side("table_g1", title, rated, rated.judges, sampling)


def table_g2(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """The wordings ``paper`` and ``fine-grained`` of the same model."""
    title = "Table G.2: Pearson's r with people, by wording of the question, on characters that models played"
    if not rated.people:
        return Table("table_g2", title, absent=NOBODY, fill=PEOPLE)
    models = [judge.partition("@")[2] for judge in rated.judges if judge.partition("@")[0] == WORDINGS[0]]
    judges = [f"{wording}@{model}" for model in models for wording in WORDINGS if model]
    both = [judge for judge in judges if judge in rated.judges and _twin(judge) in rated.judges]
    if not both:
        return Table("table_g2", title, absent=NO_WORDINGS, fill=f"{JUDGE} --judges paper,fine-grained")
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
        return [NOT_BOTH] * 5
    spread = float(np.std(differences))
    inside = [float(abs(one) <= spread) for one in differences]
    higher = [float(one > spread) for one in differences]
    lower = [float(one < -spread) for one in differences]
    shares = [mean(pairs.episodes, share, sampling) for share in (inside, higher, lower)]
    sd = Value(spread, None, None, items=len(differences), episodes=len(set(pairs.episodes)))
    return [mean(pairs.episodes, differences, sampling), sd, *shares]


BINS = 5
"""Of the main text (Appendix E.3); Table E.1 has others, too."""
OTHER_BINS = (3, 11)
RANGE_FIGURES = {"figure_g1": ("BEL", "KNO", "GOAL"), "figure_g2": ("REL", "FIN"), "figure_g3": ("SEC", "SOC")}
FEW = "nobody was rated by two people in the same dimension"


def table_e1(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """Agreement of people by dimension: Randolph's kappa, pairwise agreement."""
    title = "Table E.1: agreement between people"
    if not rated.people:
        return Table("table_e1", title, absent=NOBODY, fill=PEOPLE)
    items = {dim: [(seat, scores) for seat, scores in _several(rated, dim)] for dim in ORDER}
    if not any(items.values()):
        return Table("table_e1", title, absent=FEW, fill=SECOND)
    columns = ("Dim.", f"Same of {BINS} bins", "1 - |difference| / range", f"kappa, {BINS} bins")
    rows = [(dim, *_agreement({dim: items[dim]}, sampling)) for dim in ORDER]
    rows.append(("All seven", *_agreement(items, sampling)))
    notes = (
        "bins: equal parts of a dimension's range; kappa: Randolph's, free-marginal, for any number of people a person "
        "and episode; the last column is 11 points as they were given",
    )
    return Table("table_e1", title, (*columns, *(f"kappa, {bins} bins" for bins in OTHER_BINS)), tuple(rows), notes)


def perceived_ranges(rated: RatedEpisodes, sampling: Sampling) -> list[Table]:
    """Figures G.1 to G.3: the judge's mean score beside the range from the lowest to the highest score of people."""
    return [_ranges(key, dims, rated, sampling) for key, dims in RANGE_FIGURES.items()]


def _several(rated: RatedEpisodes, dimension: str) -> Iterator[tuple[Seat, list[float]]]:
    for seat in rated.seats:
        scores = rated.by_people(seat, dimension)
        if len(scores) > 1:
            yield seat, scores


def _agreement(items: dict[str, list[tuple[Seat, list[float]]]], sampling: Sampling) -> list[Cell]:
    def kappa(bins: int) -> tuple[Cell, Cell]:
        chosen = [
            (seat.episode, binned(scores, RANGES[dim], bins)) for dim, rows in items.items() for seat, scores in rows
        ]
        return randolph(chosen, bins, sampling)

    near = [(seat.episode, _near(scores, RANGES[dim])) for dim, rows in items.items() for seat, scores in rows]
    same, five = kappa(BINS)
    close = mean([episode for episode, _ in near], [share for _, share in near], sampling)
    if isinstance(close, Missing):
        close = Missing("nobody was rated by two people", SECOND)
    return [same, close, five, *(kappa(bins)[1] for bins in OTHER_BINS)]


def _near(scores: Sequence[float], scale: tuple[float, float]) -> float:
    """The mean over pairs of raters of 1 - |difference| / range."""
    pairs = list(combinations(scores, 2))
    return 1 - sum(abs(a - b) for a, b in pairs) / len(pairs) / (scale[1] - scale[0])


def _ranges(key: str, dims: Sequence[str], rated: RatedEpisodes, sampling: Sampling) -> Table:
    number = f"G.{key[-1]}"
    title = f"Figure {number}: perceived ranges of {', '.join(dims)}, and judge {titled(rated.judge)}"
    if not rated.people:
        return Table(key, title, absent=NOBODY, fill=PEOPLE)
    rows: list[tuple[Cell, ...]] = []
    drawn: dict[str, tuple[tuple[float, float], list[Span]]] = {}
    for dim in dims:
        for group in _grouped(rated, dim):
            lows, highs = [min(scores) for _, scores in group], [max(scores) for _, scores in group]
            low, high = sum(lows) / len(lows), sum(highs) / len(highs)
            judged = [(seat.episode, x) for seat, _ in group if (x := seat.score(rated.judge, dim)) is not None]
            score = mean([episode for episode, _ in judged], [x for _, x in judged], sampling)
            rows.append((dim, len(group), low, high, score, _where(score, low, high)))
            value = score.value if isinstance(score, Value) else None
            drawn.setdefault(dim, (RANGES[dim], []))[1].append(Span(low, high, value, len(group)))
    if not rows:
        return Table(key, title, absent=FEW, fill=SECOND)
    notes = (
        "a range: from the lowest to the highest score of the people who rated the same; ranges whose ends lie in the "
        f"same of {BINS} equal parts of the scale are put together, and told by the means of their ends",
    )
    columns = ("Dim.", "Ranges", "Mean lowest", "Mean highest", "Judge", "Judge lies")
    picture = spans(title, drawn, "bars: range of people's scores; dots: the judge's mean score")
    return Table(key, title, columns, tuple(rows), notes, picture=picture)


def _grouped(rated: RatedEpisodes, dimension: str) -> list[list[tuple[Seat, list[float]]]]:
    groups: dict[tuple[int, int], list[tuple[Seat, list[float]]]] = {}
    for seat, scores in _several(rated, dimension):
        low, high = binned([min(scores), max(scores)], RANGES[dimension], BINS)
        groups.setdefault((low, high), []).append((seat, scores))
    return [groups[ends] for ends in sorted(groups)]


def _where(score: Value | Missing, low: float, high: float) -> str:
    if isinstance(score, Missing):
        return "not rated"
    return "above" if score.value > high else "below" if score.value < low else "inside"
