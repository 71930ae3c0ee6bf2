"""Tables 1, 2, 4 and 5 of the Stackelberg Speaker: games of hidden roles, drawn from a pool or team against team."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from apportion.environments.report_tables.figures import Figure, Value
from apportion.environments.report_tables.table import Cell, Table, starred
from apportion.environments.stackelberg.variants import Variants
from apportion.environments.tournament.team_games.matches import Matches
from apportion.environments.tournament.team_games.rates import (
    change_of_middle,
    difference,
    distinct,
    ends_against,
    middle,
    win_rate,
)
from apportion.environments.tournament.team_games.tables import by_team, votes
from apportion.foundation.intervals.resampling import Sampling

AVERAGE = "Avg."
NO_TEAMS = "no agent met another one, team against team"
REWARDS = ("full", "positive-only", "negative-only")
AGAINST = (
    "win rate in percent [95 % interval], n seats; Avg. is the mean of both teams, whatever their seats. * differs "
    "from {opponent} in the same place (bootstrap over deals, 95 %, not corrected for the number of comparisons)"
)


def table_1(leagues: Sequence[Matches], sampling: Sampling) -> list[Table]:
    """Each game: every seat drawn from the pool."""
    title = "Table 1 of the Stackelberg Speaker"
    found = [league.pool for league in leagues if league.pool.matches]
    if not found:
        return [Table("table_1", title, absent="no league is there whose seats were drawn from a pool")]
    return [by_team(one, sampling, f"table_1_{file_name(one.game)}", f"{title}: {one.game}") for one in found]


def table_2(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """Refiners by their reward, against one opponent."""
    title = "Table 2 of the Stackelberg Speaker: reward functions"
    if not variants.rewards:
        return Table("table_2", title, absent="of no agent the reward was given by which it was trained")
    order = {reward: place for place, reward in enumerate(REWARDS)}
    agents = sorted(variants.rewards, key=lambda one: (order.get(variants.rewards[one], len(order)), one))
    rows = {agent: f"{agent} ({variants.rewards[agent]})" for agent in agents}
    return against("table_2", title, rows, leagues, variants, sampling)


def table_4(leagues: Sequence[Matches], sampling: Sampling) -> list[Table]:
    """Votes received, also by people, of each game that has such votes."""
    title = "Table 4 of the Stackelberg Speaker: votes received"
    found = [votes(one, sampling, f"table_4_{file_name(one.game)}", f"{title}: {one.game}") for one in leagues]
    there = [table for table in found if not table.absent]
    return there or [Table("table_4", title, absent="no game is there in which players vote against players")]


def table_5(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """Every agent against one opponent: refined in one stage, in two, by a prompt."""
    title = "Table 5 of the Stackelberg Speaker: every agent, team against team"
    agents = sorted({agent for league in leagues for agent in league.by_teams.agents})
    return against("table_5", title, {agent: agent for agent in agents}, leagues, variants, sampling)


def against(
    key: str, title: str, rows: Mapping[str, str], leagues: Sequence[Matches], variants: Variants, sampling: Sampling
) -> Table:
    """Agents (by name, what their row is called) team against team with one opponent, whose own row comes first."""
    found = [league for league in leagues if league.by_teams.matches]
    opponent = variants.opponent(found)
    if opponent is None:
        return Table(key, title, absent=NO_TEAMS)
    named = {opponent: opponent, **{agent: name for agent, name in rows.items() if agent != opponent}}
    cells = [cells_against(agent, opponent, found, sampling) for agent in named]
    made = tuple((name, *row) for name, row in zip(named.values(), cells, strict=True))
    columns = ("Method", *columns_of(found))
    return Table(key, f"{title}, against {opponent}", columns, made, (AGAINST.format(opponent=opponent),), decimals=1)


def columns_of(leagues: Iterable[Matches]) -> tuple[str, ...]:
    """Both teams of each game, and their average."""
    return tuple(f"{league.game}: {what}" for league in leagues for what in (*league.teams, AVERAGE))


def cells_against(agent: str, opponent: str, leagues: Sequence[Matches], sampling: Sampling) -> tuple[Cell, ...]:
    """One row: marked where it differs from the opponent's play with itself."""
    cells: list[Cell] = []
    for league in leagues:
        larger, smaller = league.teams
        ours, theirs = (
            (ends_against(league, one, larger, opponent), ends_against(league, one, smaller, opponent))
            for one in (agent, opponent)
        )
        figures = [*map(win_rate, ours), middle(*ours, sampling)]
        changes = [difference(one, other, sampling) for one, other in zip(ours, theirs, strict=True)]
        changes.append(change_of_middle(ours, theirs, sampling))
        cells += [_marked(figure, change) for figure, change in zip(figures, changes, strict=True)]
    return tuple(cells)


def file_name(game: str) -> str:
    """A game's name in the name of a file.

    >>> file_name("One Night Ultimate Werewolf, made up")
    'one_night_ultimate_werewolf_made_up'
    """
    return "_".join("".join(letter if letter.isalnum() else " " for letter in game.casefold()).split())


def _marked(figure: Figure, change: Figure) -> Cell:
    if not isinstance(figure, Value):
        return figure
    return starred(figure, 0.0 if distinct(change) else None, ((0.05, "*"),))
