"""People beside each other: Table E.1, and the perceived ranges of Figures G.1 to G.3 of SOTOPIA."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.report_tables.figures import Value, mean
from apportion.environments.report_tables.table import Cell, Table
from apportion.environments.sotopia.reports.episode_scores import Seat
from apportion.environments.sotopia.reports.judge_human_agreement import NOBODY, ORDER
from apportion.environments.sotopia.reports.raters import RatedEpisodes, titled
from apportion.environments.sotopia.reports.statistics import binned, randolph
from apportion.environments.sotopia.reports.svg import Span, spans
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

BINS = 5
"""Of the main text (Appendix E.3); Table E.1 has others, too."""
OTHER_BINS = (3, 11)
RANGE_FIGURES = {"figure_g1": ("BEL", "KNO", "GOAL"), "figure_g2": ("REL", "FIN"), "figure_g3": ("SEC", "SOC")}
FEW = "nobody was rated by two people in the same dimension"


def table_e1(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """Agreement of people by dimension: Randolph's kappa, pairwise agreement."""
    title = "Table E.1: agreement between people"
    if not rated.people:
        return Table("table_e1", title, absent=NOBODY)
    items = {dim: [(seat, scores) for seat, scores in _several(rated, dim)] for dim in ORDER}
    if not any(items.values()):
        return Table("table_e1", title, absent=FEW)
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
        close = Missing("nobody was rated by two people")
    return [same, close, five, *(kappa(bins)[1] for bins in OTHER_BINS)]


def _near(scores: Sequence[float], scale: tuple[float, float]) -> float:
    """The mean over pairs of raters of 1 - |difference| / range."""
    pairs = list(combinations(scores, 2))
    return 1 - sum(abs(a - b) for a, b in pairs) / len(pairs) / (scale[1] - scale[0])


def _ranges(key: str, dims: Sequence[str], rated: RatedEpisodes, sampling: Sampling) -> Table:
    number = f"G.{key[-1]}"
    title = f"Figure {number}: perceived ranges of {', '.join(dims)}, and judge {titled(rated.judge)}"
    if not rated.people:
        return Table(key, title, absent=NOBODY)
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
        return Table(key, title, absent=FEW)
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
