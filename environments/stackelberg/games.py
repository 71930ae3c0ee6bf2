"""Tables 1, 2, 4 and 5 of the Stackelberg Speaker: games of hidden roles, drawn from a pool or team against team."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apportion.environments.deduction.games import game_called
from apportion.environments.negotiation.bargaining.scenario import BUYER, SELLER
from apportion.environments.report_tables.table import Cell, Figure, Table, Value, mean, starred
from apportion.environments.sotopia.reports.episode_scores import OVERALL, Seat, TaskId
from apportion.environments.sotopia.reports.models import models_only
from apportion.environments.sotopia.reports.policies import NO_HARD, beside, column, most_met
from apportion.environments.sotopia.reports.raters import RatedEpisodes, titled
from apportion.environments.stackelberg import paper_rows
from apportion.environments.tournament.results import Result
from apportion.environments.tournament.team_games.matches import Matches
from apportion.environments.tournament.team_games.rates import (
    TEAMS,
    change_of_middle,
    difference,
    distinct,
    ends_against,
    middle,
    win_rate,
)
from apportion.environments.tournament.team_games.tables import by_team, votes
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling


@dataclass(frozen=True)
class Variants:
    """What agents are, by their names in the logs.

    ``against``: Whom agents are held against, team against team: ReAct in the paper. One of each language model, for
    Figure 5. None: whom most others met. ``rewards``: By agent the reward of its Refiner (``full``, ``positive-only``,
    ``negative-only``: Table 2). ``intents``: By agent K, the number of desired and of undesired responses (Figure 4).
    ``instances``: By agent how many instances its Refiner was trained on (Figure 10). ``models``: By agent the language
    model behind it (Figure 5).
    """

    against: tuple[str, ...] = ()
    rewards: Mapping[str, str] = field(default_factory=dict)
    intents: Mapping[str, int] = field(default_factory=dict)
    instances: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def named(self) -> tuple[str, ...]:
        """Every agent that is named somewhere."""
        return (*self.against, *self.rewards, *self.intents, *self.instances, *self.models)

    def check(self, known: Collection[str]) -> None:
        """Hold the names to those who play. Raises InputError: nobody is called so."""
        for name in self.named:
            if name not in known:
                there = f"there are {', '.join(sorted(known))}" if known else "nobody plays"
                raise InputError(f"nobody plays who is called {name!r}: {did_you_mean(name, sorted(known), there)}")

    def opponent(self, leagues: Sequence[Matches], agent: str | None = None) -> str | None:
        """Whom an agent is held against: of those named that play these games the one with its language model, else
        the first; by default whom most others met, team against team (of equals the first by name). None: nobody met
        another one.
        """
        here = [name for name in self.against if any(name in league.by_teams.agents for league in leagues)]
        if here:
            model = self.models.get(agent or "")
            return next((name for name in here if model is not None and self.models.get(name) == model), here[0])
        met: Counter[str] = Counter()
        for league in leagues:
            pairs = {tuple(match.sole(team) for team in league.teams) for match in league.by_teams.matches}
            met.update(other for pair in pairs for one, other in (pair, pair[::-1]) if other and one != other)
        return min(met, key=lambda name: (-met[name], name), default=None)


AVERAGE = "Avg."
WEREWOLF = "werewolf"
BARGAINS = "apportion world tournament bargaining CORPUS --agents A,B"
NO_TEAMS = "no agent met another one, team against team"
REWARDS = ("full", "positive-only", "negative-only")
AGAINST = (
    "win rate in percent [95 % interval], n seats; Avg. is the mean of both teams, whatever their seats. * differs "
    "from {opponent} in the same place (bootstrap over deals, 95 %, not corrected for the number of comparisons)"
)


def table_1(leagues: Sequence[Matches], sampling: Sampling) -> list[Table]:
    """Each game: every seat drawn from the pool; those of the paper that nobody has played have rows to play."""
    title = "Table 1 of the Stackelberg Speaker"
    found = [league.pool for league in leagues if league.pool.matches]
    tables = []
    for one in (*found, *_not_played(found)):
        table = by_team(one, sampling, f"table_1_{file_name(one.game)}", f"{title}: {one.game}")
        rows = paper_rows.TABLE_1.get(one.game)
        more = rows.missing(one.agents, len(one.teams) + 1) if rows else ()
        tables.append(replace(table, rows=(*table.rows, *more)))
    return tables


def _not_played(found: Sequence[Matches]) -> list[Matches]:
    """The paper's games that are not among those found, without a match."""
    return [
        Matches(game, _teams_of(game), ()) for game in paper_rows.TABLE_1 if game not in {one.game for one in found}
    ]


def _teams_of(game: str) -> tuple[str, str]:
    """Both teams, that of more seats first."""
    dealt = game_called(game).make(game_called(game).options(), None)
    dealt.reset("")
    one, other = Counter(dealt.teams[role] for role in dealt.deal[: len(dealt.agents)]).most_common()
    return one[0], other[0]


def table_2(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """Refiners by their reward, against one opponent."""
    title = "Table 2 of the Stackelberg Speaker: reward functions"
    order = {reward: place for place, reward in enumerate(REWARDS)}
    agents = sorted(variants.rewards, key=lambda one: (order.get(variants.rewards[one], len(order)), one))
    rows = {agent: f"{agent} ({variants.rewards[agent]})" for agent in agents}
    made = against("table_2", title, rows, leagues if agents else (), variants, sampling)
    found = _not_played(()) if made.absent else [league for league in leagues if league.by_teams.matches]
    played: set[str] = set()
    if not made.absent:
        played = {variants.opponent(found) or "", *map(paper_rows.refined_by, variants.rewards.values())}
    left: dict[str, tuple[Cell, ...]] = {}
    if all(league.game in paper_rows.TABLE_2 for league in found):
        for league in found:
            for name, *cells in paper_rows.TABLE_2[league.game].missing(played, len(league.teams) + 1):
                left[str(name)] = (*left.get(str(name), ()), *cells)
    made_rows = (*made.rows, *((name, *cells) for name, cells in left.items()))
    notes = (*made.notes, "name with --reward which agent's Refiner was trained by which reward")
    return Table("table_2", made.title, ("Method", *columns_of(found)), made_rows, notes, decimals=1)


def table_4(leagues: Sequence[Matches], sampling: Sampling) -> list[Table]:
    """Votes received, also by people, of each game that has such votes."""
    title = "Table 4 of the Stackelberg Speaker: votes received"
    werewolf = [one for one in _not_played(()) if one.game == WEREWOLF and one.game not in {it.game for it in leagues}]
    tables = []
    for one in (*leagues, *werewolf):
        table = votes(one, sampling, f"table_4_{file_name(one.game)}", f"{title}: {one.game}")
        if one.game == WEREWOLF:
            people = {paper_rows.PERSON for _, seat in one.seats if seat.person}
            more = paper_rows.TABLE_4.missing([*one.agents, *people], 3)
            table = replace(table, rows=(*table.rows, *more))
        tables.append(table)
    return [table for table in tables if not table.absent]


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
        return Table(key, title, absent=NO_TEAMS, fill=TEAMS)
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


SNP, SHARE = "snp", "share"


def table_7(bargains: Sequence[Result], named: Sequence[str], sampling: Sampling) -> Table:
    """Buyers against one seller.

    ``bargains``: Scored by the rules; ``share`` is there where there was a deal. ``named``: Whom agents are held
    against: the first of them that sells here, else who sold to most buyers.
    """
    title = "Table 7 of the Stackelberg Speaker: bargaining, the buyer's side"
    if not bargains:
        return Table("table_7", title, absent="no corpus of bargains was given", fill=BARGAINS)
    sold = Counter(seller for _, seller in {(one.seating[BUYER], one.seating[SELLER]) for one in bargains})
    seller = next((name for name in named if name in sold), None) or min(sold, key=lambda name: (-sold[name], name))
    found = [one for one in bargains if one.seating[SELLER] == seller]
    rows: list[tuple[Cell, ...]] = []
    for buyer in sorted({one.seating[BUYER] for one in found}):
        mine = [one for one in found if one.seating[BUYER] == buyer]
        deals = win_rate([(one.task, SHARE in one.scores[BUYER]) for one in mine])
        rows.append((buyer, deals, _mean(mine, SNP, 1.0, sampling), _mean(mine, SHARE, 100.0, sampling)))
    notes = (
        "deal rate in percent with Wilson's interval; SNP: the buyer's profit in parts of the surplus, 0 without a "
        "deal, its mean over bargains; share: the same of deals alone, in percent",
        "intervals are over bargains: one that is played several times is one unit",
    )
    columns = ("Buyer", "Deal rate, %", "SNP", "Share, %")
    return Table("table_7", f"{title}, against the seller {seller}", columns, tuple(rows), notes)


def _mean(bargains: Sequence[Result], dimension: str, factor: float, sampling: Sampling) -> Figure:
    known = [one for one in bargains if dimension in one.scores[BUYER]]
    if not known:
        return Missing("no bargain ended in a deal")
    return mean([one.task for one in known], [factor * one.scores[BUYER][dimension] for one in known], sampling)


DIMENSIONS = {"GOAL": "Goal", OVERALL: "Overall"}


def table_3(
    rated: RatedEpisodes | None, hard: Collection[TaskId] | None, named: Sequence[str], sampling: Sampling
) -> Table:
    """Every agent beside one partner, on all and on hard tasks.

    ``rated``: Social episodes with their ratings; None: there are none. ``hard``: Which tasks count as hard; None: not
    told. ``named``: Whom agents are held against: the first of them that plays here is the partner, else whom most
    others met.
    """
    title = "Table 3 of the Stackelberg Speaker: SOTOPIA"
    found = {} if rated is None else models_only(rated)
    partner = next((name for name in named if name in found), None) or most_met(found)
    columns: list[str] = []
    cells: list[list[Cell]] = []
    for tasks, chosen in (("all tasks", None), ("hard tasks", hard)):
        for dimension, name in DIMENSIONS.items():
            columns.append(f"{name}, {tasks}")
            if rated is None or partner is None:
                continue
            if tasks == "hard tasks" and chosen is None:
                cells.append([NO_HARD] * len(found))
                continue
            parts = {agent: _of_tasks(beside(seats, partner), chosen) for agent, seats in found.items()}
            cells.append(column(parts, dimension, rated, sampling))
    met = () if rated is None or partner is None else tuple(found)
    rows = tuple((agent, *(column[place] for column in cells)) for place, agent in enumerate(met))
    rows += paper_rows.TABLE_3.missing(met, len(columns))
    notes = (
        "mean [95 % interval] beside the partner, n parts, episodes drawn whole; Overall is the mean of all seven "
        "dimensions. * the best, where it differs from the second best (Student's t-test, p < 0.05)",
        "the paper's hard tasks are 90 of SOTOPIA's; here those of the file; dsi is its SOTOPIA-Omega",
    )
    if rated is not None and partner is not None:
        title = f"{title}, beside {partner}, by judge {titled(rated.judge)}"
    return Table("table_3", title, ("Method", *columns), rows, notes)


def _of_tasks(seats: Sequence[Seat], tasks: Collection[TaskId] | None) -> list[Seat]:
    return [seat for seat in seats if tasks is None or seat.task in tasks]
