"""Models beside each other: Table 2, Figure 3, Table G.3, Figures G.4 and G.5 of SOTOPIA."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion.corpus.sotopia_eval import OVERALL_RANGE, RANGES
from apportion.environments.report_tables.chart import Map, maps
from apportion.environments.report_tables.table import Cell, Figure, Table, Value, mean, starred
from apportion.environments.sotopia.reports.episode_scores import OVERALL, Seat, TaskId
from apportion.environments.sotopia.reports.judge_human_agreement import APPENDIX_ORDER, NOBODY
from apportion.environments.sotopia.reports.raters import HARD, JUDGE, PEOPLE, PLAY, RatedEpisodes, titled
from apportion.environments.sotopia.reports.statistics import students_t
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

SIGNIFICANT = ((0.05, "*"),)
SCALES = {**RANGES, OVERALL: OVERALL_RANGE}
NO_MODELS = "no episode is there of which it is told which models played it, and no person"
Score = Callable[[Seat, str], float | None]


@dataclass(frozen=True)
class Scores:
    """Scores of several persons in one dimension, each from one of ``episodes``; ``played``: with those not rated."""

    episodes: list[str]
    values: list[float]
    played: int

    @classmethod
    def of(cls, seats: Sequence[Seat], dimension: str, score: Score) -> Scores:
        """Those that are rated."""
        rated = [(seat.episode, value) for seat in seats if (value := score(seat, dimension)) is not None]
        return cls([episode for episode, _ in rated], [value for _, value in rated], len(seats))

    def mean(self, sampling: Sampling) -> Figure:
        """Their mean; without any, the command that gives some."""
        if not self.values:
            return Missing("nobody rated it", JUDGE) if self.played else Missing("nobody played it", PLAY)
        return mean(self.episodes, self.values, sampling)


def table_2(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """Each model's mean over all partners, by the judge."""
    title = f"Table 2: models, averaged over the models they met, by judge {titled(rated.judge)}"
    return _by_model("table_2", title, rated, rated.judged, sampling)


def table_g3(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """The same by people."""
    title = "Table G.3: models, averaged over the models they met, by people"
    if not rated.people:
        return Table("table_g3", title, absent=NOBODY, fill=PEOPLE)
    return _by_model("table_g3", title, rated, rated.human_score, sampling)


def figure_3(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """The overall score of every pair of models."""
    title = f"Figure 3: overall score of model pairs, by judge {titled(rated.judge)}"
    return _by_pair("figure_3", title, rated, (OVERALL,), sampling)


def figure_g4(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """Every dimension of every pair of models."""
    title = f"Figure G.4: model pairs by dimension, by judge {titled(rated.judge)}"
    return _by_pair("figure_g4", title, rated, tuple(RANGES), sampling)


def figure_g5(rated: RatedEpisodes, sampling: Sampling, hard: Collection[TaskId] | None) -> Table:
    """The same on hard tasks; None: there is no choice of them."""
    title = f"Figure G.5: model pairs by dimension on hard tasks, by judge {titled(rated.judge)}"
    if hard is None:
        return Table("figure_g5", title, absent="no file of hard tasks was given", fill=HARD)
    return _by_pair("figure_g5", title, rated, tuple(RANGES), sampling, hard)


def models_only(rated: RatedEpisodes) -> dict[str, list[Seat]]:
    """By model what it played with models; those who play with people are in Table 3."""
    found: dict[str, list[Seat]] = {}
    episodes_with_people = {seat.episode for seat in rated.seats if rated.played_by_people(seat)}
    for seat in rated.seats:
        if seat.agent is not None and seat.episode not in episodes_with_people:
            found.setdefault(seat.agent, []).append(seat)
    return dict(sorted(found.items()))


def _by_model(key: str, title: str, rated: RatedEpisodes, score: Score, sampling: Sampling) -> Table:
    found = models_only(rated)
    if not found:
        return Table(key, title, absent=NO_MODELS, fill=PLAY)
    rows: list[tuple[Cell, ...]] = []
    for dim in (*APPENDIX_ORDER, OVERALL):
        low, high = SCALES[dim]
        scores = {model: Scores.of(seats, dim, score) for model, seats in found.items()}
        rows.append((dim, f"[{low:.3g}, {high:.3g}]", *best_marked(scores, sampling)))
    notes = (
        "mean [95 % interval] of every part a model played, n parts; * the best, where it differs from the second best "
        "(Student's t-test, p < 0.05). Two parts of one episode count as two in the test, as in the paper",
        *_uneven(found),
    )
    return Table(key, title, ("Dim.", "Range", *found), tuple(rows), notes)


def best_marked(scores: Mapping[str, Scores], sampling: Sampling) -> list[Cell]:
    """By model the mean, the best marked where it differs from the second best."""
    means = {model: one.mean(sampling) for model, one in scores.items()}
    there = sorted((m for m in means if isinstance(means[m], Value)), key=lambda m: -value_or_lowest(means[m]))
    cells: dict[str, Cell] = dict(means)
    if len(there) > 1:
        best, second = there[:2]
        cells[best] = with_test(means[best], scores[best], scores[second])
    return list(cells.values())


def with_test(figure: Figure, ours: Scores, theirs: Scores) -> Cell:
    """A mean with the p that it is that of ``theirs``, marked where it is significant; without where there is none."""
    p = students_t(ours.values, theirs.values)
    if isinstance(figure, Missing) or isinstance(p, Missing):
        return figure
    return starred(replace(figure, p=p), p if p < 0.05 else None, SIGNIFICANT)


def value_or_lowest(figure: Cell) -> float:
    """A figure's value, for an order in which one that is not there comes last."""
    return figure.value if isinstance(figure, Value) else float("-inf")


def _uneven(found: Mapping[str, Sequence[Seat]]) -> list[str]:
    """A note where a model met some partners more often than others: its mean depends on that."""
    met: dict[str, dict[str | None, int]] = {model: {} for model in found}
    for model, seats in found.items():
        for seat in seats:
            for partner in seat.partners:
                met[model][partner] = met[model].get(partner, 0) + 1
    counts = {number for partners in met.values() for number in partners.values()}
    if len(counts) <= 1 and len({frozenset(partners) for partners in met.values()}) == 1:
        return []
    return ["partners are not balanced, and every part counts once: see the pairs before you compare models"]


def _by_pair(
    key: str,
    title: str,
    rated: RatedEpisodes,
    dims: Sequence[str],
    sampling: Sampling,
    hard: Collection[TaskId] | None = None,
) -> Table:
    found = models_only(rated)
    if not found:
        return Table(key, title, absent=NO_MODELS, fill=PLAY)
    pairs: dict[tuple[str, str], list[Seat]] = {}
    for model, seats in found.items():
        for seat in seats:
            if hard is None or seat.task in hard:
                for partner in dict.fromkeys(seat.partners):
                    pairs.setdefault((str(partner), model), []).append(seat)
    if not pairs:
        return Table(key, title, absent="none of these tasks was played by two models", fill=f"{PLAY} --tasks FILE")
    scores = {
        (pair, dim): Scores.of(seats, dim, rated.judged).mean(sampling)
        for pair, seats in sorted(pairs.items())
        for dim in dims
    }
    rows = [(partner, model, *(scores[(partner, model), dim] for dim in dims)) for partner, model in sorted(pairs)]
    notes = ("the score of the model when it plays with the partner (the reference model)",)
    picture = _drawn(title, scores, dims)
    return Table(key, title, ("Partner", "Model", *dims), tuple(rows), notes, picture=picture, naming=2)


def _drawn(title: str, scores: Mapping[tuple[tuple[str, str], str], Figure], dims: Sequence[str]) -> str | None:
    partners = sorted({partner for (partner, _), _ in scores})
    models = sorted({model for (_, model), _ in scores})
    drawn = []
    for dim in dims:
        values = {
            pair: figure.value for (pair, name), figure in scores.items() if name == dim and isinstance(figure, Value)
        }
        if values:
            drawn.append(Map(dim, partners, models, values, SCALES[dim]))
    return maps(title, drawn) if drawn else None
