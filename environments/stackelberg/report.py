"""All tables and figures of the Stackelberg Speaker that corpora allow, and why the others are not there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from apportion.environments.deduction.games import GAMES
from apportion.environments.deduction.league import merged, read_matches
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.negotiation.bargaining.game import Bargaining
from apportion.environments.report_tables.report import Report, is_human
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.reports.episode_scores import TaskId
from apportion.environments.sotopia.reports.raters import RatedEpisodes, ReportChoice, read_rated
from apportion.environments.sotopia.reports.report import facts_of as facts_of_rated
from apportion.environments.stackelberg.curves import CosineSimilarity, figure_4, figure_5, figure_10, table_6
from apportion.environments.stackelberg.games import Variants, table_1, table_2, table_3, table_4, table_5, table_7
from apportion.environments.tournament.results import Result, read_results
from apportion.environments.tournament.team_games.matches import Matches
from apportion.environments.tournament.team_games.tables import RATES
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.resampling import Sampling

HEAD = "Speech that moves the next speaker"


@dataclass(frozen=True)
class StackelbergChoice:
    """What is reported.

    ``corpora``: Leagues of games of hidden roles, rated social episodes, bargains, in any order. ``variants``: Which
    agent is what. ``judge``: The annotator whose scores of social episodes count; None: who gave the most. ``humans``:
    Names of further agents that are people. ``hard``: Social tasks that count as hard. ``instances``: For Table 6.
    ``called``: What a caller calls these, for errors.
    """

    corpora: tuple[Path, ...]
    variants: Variants = field(default_factory=Variants)
    judge: str | None = None
    humans: tuple[str, ...] = ()
    hard: Collection[TaskId] | None = None
    instances: tuple[CosineSimilarity, ...] = ()
    called: Callable[[str], str] = str


@dataclass(frozen=True)
class Played:
    """What the corpora hold, by what was played."""

    leagues: tuple[Matches, ...] = ()
    bargains: tuple[Result, ...] = ()
    rated: RatedEpisodes | None = None

    @property
    def agents(self) -> frozenset[str]:
        """Everybody who played anything."""
        return frozenset(
            [
                *(agent for league in self.leagues for agent in league.agents),
                *(agent for one in self.bargains for agent in one.seating),
                *(seat.agent for seat in (self.rated.seats if self.rated else ()) if seat.agent is not None),
            ]
        )


def stackelberg_report(choice: StackelbergChoice, sampling: Sampling) -> Report:
    """Make all tables. Raises InputError: what `read_played` raises; nobody plays who is named as a variant."""
    played = read_played(choice)
    variants, named = choice.variants, choice.variants.against
    variants.check(played.agents)
    leagues = played.leagues
    tables = (
        *table_1(leagues, sampling),
        table_2(leagues, variants, sampling),
        table_3(played.rated, choice.hard, named, sampling),
        figure_4(leagues, variants, sampling),
        figure_5(leagues, variants, sampling),
        *table_4(leagues, sampling),
        table_5(leagues, variants, sampling),
        figure_10(leagues, variants, sampling),
        table_6(choice.instances, sampling),
        table_7(played.bargains, named, sampling),
    )
    return Report(_facts(played, sampling), tables, HEAD)


def read_played(choice: StackelbergChoice) -> Played:
    """Read the corpora, each by what its log says was played.

    Raises InputError: a corpus whose log holds something else, a damaged log, social episodes that nobody rated.
    """
    social: list[Path] = []
    leagues: list[Matches] = []
    bargains: list[Result] = []
    for path in choice.corpora:
        kinds = _played_in(path)
        if kinds <= {Sotopia.kind}:
            social.append(path)
        elif kinds == {Bargaining.kind}:
            bargains += read_results(path).results
        elif kinds <= set(GAMES.names()):
            leagues += read_matches(path, lambda agent: is_human(agent, choice.humans))
        else:
            known = ", ".join([*GAMES.names(), Sotopia.kind, Bargaining.kind])
            raise InputError(f"{path}: holds episodes of {', '.join(sorted(kinds))}; these tables are of {known}")
    rated = None
    if social:
        rated = read_rated(ReportChoice(tuple(social), choice.judge, (), choice.humans, choice.called))
    return Played(tuple(merged(leagues)), tuple(bargains), rated)


def _played_in(path: Path) -> set[str]:
    """The kinds of environments in a log; none where there is no log (imported social episodes have none)."""
    return {str(episode.opening["environment"]) for episode in read_log(path / LOG).values()}


def _facts(played: Played, sampling: Sampling) -> tuple[str, ...]:
    facts = [
        f"{league.game}: {len(league.matches):,} matches of {len({one.deal for one in league.matches}):,} deals"
        + (
            f"; {len(league.unfinished):,} have not ended, or have no score, and are in no figure"
            if league.unfinished
            else ""
        )
        + (f"; {league.unusable}" if league.unusable else "")
        for league in played.leagues
    ]
    if played.leagues:
        facts.append(RATES)
    if played.bargains:
        facts.append(f"bargains: {len(played.bargains):,}")
    if played.rated is not None:
        facts += facts_of_rated(played.rated, sampling)
    facts.append(
        f"other intervals: {sampling.confidence:.0%}, {sampling.resamples:,} resamples (percentiles), seed "
        f"{sampling.seed}"
    )
    facts.append(
        "simulated play says nothing of people: what this may not be used for is in docs/explanations/stackelberg.md"
    )
    return tuple(facts)
