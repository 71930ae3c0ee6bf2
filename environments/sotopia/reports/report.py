"""All tables of SOTOPIA that ratings of episodes allow, and why the others are not there."""

from __future__ import annotations

from collections.abc import Collection

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.report_tables.report import Report
from apportion.environments.sotopia.reports import judge_human_agreement, models, people_playing
from apportion.environments.sotopia.reports.episode_scores import TaskId
from apportion.environments.sotopia.reports.raters import RatedEpisodes, titled
from apportion.foundation.intervals.resampling import Sampling
from apportion.foundation.truncate import first_few

HEAD = "Social episodes, rated"


def report(rated: RatedEpisodes, sampling: Sampling, hard: Collection[TaskId] | None = None) -> Report:
    """Make all tables.

    ``rated``: Episodes with their ratings, and who gave them. ``sampling``: Of intervals. ``hard``: Which tasks count
    as hard, for Tables 3, G.4 and Figure G.5; None: not told.
    """
    tables = (
        judge_human_agreement.table_1(rated, sampling),
        judge_human_agreement.figure_2(rated, sampling),
        judge_human_agreement.table_e1(rated, sampling),
        models.table_2(rated, sampling),
        models.figure_3(rated, sampling),
        people_playing.table_3(rated, sampling, hard),
        people_playing.words_a_turn(rated, sampling),
        judge_human_agreement.table_g1(rated, sampling),
        judge_human_agreement.table_g2(rated, sampling),
        *judge_human_agreement.perceived_ranges(rated, sampling),
        models.table_g3(rated, sampling),
        models.figure_g4(rated, sampling),
        models.figure_g5(rated, sampling, hard),
        people_playing.table_g4(rated, sampling, hard),
    )
    return Report(facts_of(rated, sampling), tables, HEAD)


def facts_of(rated: RatedEpisodes, sampling: Sampling) -> tuple[str, ...]:
    """What tables are made of: episodes, judges, people, what is not rated, how intervals are made."""
    episodes = len({seat.episode for seat in rated.seats})
    others = rated.judges[1:]
    people = f"people: {len(rated.people)} ({first_few(rated.people, 5)})" if rated.people else "no people rate"
    also = f"; further judges: {first_few(others, 5)}" if others else ""
    return (
        f"{episodes:,} episodes, {len(rated.seats):,} parts in them; judge {titled(rated.judge)}{also}; {people}",
        *_unrated(rated),
        f"intervals: {sampling.confidence:.0%}, {sampling.resamples:,} resamples of the episodes (percentiles), seed "
        f"{sampling.seed}",
        *rated.notes,
    )


def _unrated(rated: RatedEpisodes) -> list[str]:
    """What the judge has not scored, which counts nowhere and is no 0."""
    missing = {dim: sum(seat.score(rated.judge, dim) is None for seat in rated.seats) for dim in RANGES}
    told_so = [f"{dim} {count:,}" for dim, count in missing.items() if count]
    rest = f"and counted nowhere: {', '.join(told_so)} parts"
    return [f"not rated by judge {titled(rated.judge)}, {rest}"] * bool(told_so)
