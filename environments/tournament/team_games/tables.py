"""What a league says: win rates by team, role and seat, by who played whom, differences, votes, and silence."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from apportion.environments.report_tables.report import Report
from apportion.environments.report_tables.table import AnnotatedCell, Cell, Figure, Table, Value, mean
from apportion.environments.tournament.page import table_paths
from apportion.environments.tournament.team_games.matches import Match, Matches, Seat
from apportion.environments.tournament.team_games.rates import (
    LEAGUE,
    TEAMS,
    difference,
    distinct,
    ends,
    of_agent,
    win_rate,
)
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

BEST = "*"
OVERALL = "Overall"
RATES = (
    "win rate in percent [95 % interval], n seats; Wilson's interval for as many independent seats as vary as much, "
    "deal by deal: seats of one match win and lose together"
)
MARKED = (
    f"{BEST} the best of its column, where the difference to the second best (bootstrap over deals) leaves out 0; not "
    "corrected for the number of comparisons"
)
NO_VOTES = Missing("the game has no votes against players")


def league_report(matches: Matches, sampling: Sampling, title: str) -> Report:
    """All tables of a league."""
    tables = [by_team(matches, sampling), pairings(matches), by_role(matches), by_seat(matches)]
    tables += [differences(matches, sampling), votes(matches, sampling)]
    if any(seat.silent for _, seat in matches.seats):
        tables.append(silence(matches))
    return Report(facts_of(matches, sampling), tuple(tables), title)


def facts_of(matches: Matches, sampling: Sampling) -> tuple[str, ...]:
    """How many matches of how many deals, what is missing, and how intervals are made."""
    deals = len({match.deal for match in matches.matches})
    unfinished = f"{len(matches.unfinished):,} matches have not ended, or have no score, and are in no figure"
    return (
        f"{matches.game}: {len(matches.matches):,} matches of {deals:,} deals, simulated",
        RATES,
        *([unfinished] if matches.unfinished else []),
        *([matches.unusable] if matches.unusable else []),
        f"differences and votes: {sampling.confidence:.0%}, {sampling.resamples:,} resamples of the deals "
        f"(percentiles), seed {sampling.seed}",
        "what agents win of each other here says nothing of people, nor of agents that did not play",
    )


def by_team(matches: Matches, sampling: Sampling, key: str = "by_team", title: str = "") -> Table:
    """Each agent in each team and overall: Table 1 of the Stackelberg Speaker."""
    columns = (*(f"Team {team}" for team in matches.teams), OVERALL)
    cells = [best_marked(matches, team, sampling) for team in (*matches.teams, None)]
    rows = tuple((agent, *(column[place] for column in cells)) for place, agent in enumerate(matches.agents))
    overall = "overall counts every seat once: an agent sits more often in the larger team"
    title = title or f"{matches.game}: win rate by team"
    return Table(key, title, ("Agent", *columns), rows, (MARKED, overall), decimals=1)


def best_marked(matches: Matches, team: str | None, sampling: Sampling) -> list[Cell]:
    """By agent the win rate in a team (None: overall), the best marked where it differs from the second best."""
    found = {agent: ends(matches, of_agent(agent, team)) for agent in matches.agents}
    rates: dict[str, Figure] = {agent: win_rate(one) for agent, one in found.items()}
    known = {agent: rate for agent, rate in rates.items() if isinstance(rate, Value)}
    ranked = sorted(known, key=lambda agent: -known[agent].value)
    cells: dict[str, Cell] = dict(rates)
    if len(ranked) > 1:
        best, second = ranked[:2]
        if distinct(difference(found[best], found[second], sampling)):
            cells[best] = AnnotatedCell(known[best], BEST)
    return list(cells.values())


def pairings(matches: Matches) -> Table:
    """Team against team: how often each side won, by the agents that had the teams to themselves."""
    title = f"{matches.game}: team against team"
    met: dict[tuple[str, ...], list[Match]] = {}
    for match in matches.by_teams.matches:
        met.setdefault(tuple(str(match.sole(team)) for team in matches.teams), []).append(match)
    if not met:
        return Table("pairings", title, absent="every seat was drawn from the pool", fill=TEAMS)
    rows: list[tuple[Cell, ...]] = []
    for pair, played in sorted(met.items()):
        chosen = matches.only(played)
        rates = (win_rate(ends(chosen, _dealt(team))) for team in matches.teams)
        rows.append((*pair, len(played), *rates))
    columns = (*(f"Team {team}" for team in matches.teams), "matches", *(f"{team} won" for team in matches.teams))
    notes = ("teams are those of the dealt roles, which say who sits where",)
    return Table("pairings", title, columns, tuple(rows), notes, decimals=1, naming=2)


def by_role(matches: Matches) -> Table:
    """Each agent in each role, as it was dealt."""
    return _by(matches, "by_role", "role as dealt", matches.roles, lambda seat: seat.role)


def by_seat(matches: Matches) -> Table:
    """Each agent in each seat: the order of speech is the order of the seats."""
    numbers = sorted({seat.number for _, seat in matches.seats})
    return _by(matches, "by_seat", "seat", [str(one) for one in numbers], lambda seat: str(seat.number))


def _by(matches: Matches, key: str, what: str, values: Sequence[str], of: Callable[[Seat], str]) -> Table:
    found: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for deal, seat in matches.seats:
        if seat.won is not None:
            found.setdefault((seat.agent, of(seat)), []).append((deal, seat.won))
    rows = tuple((agent, *(win_rate(found.get((agent, one), [])) for one in values)) for agent in matches.agents)
    return Table(key, f"{matches.game}: win rate by {what}", ("Agent", *values), rows, decimals=1)


def differences(matches: Matches, sampling: Sampling) -> Table:
    """Every two agents: the win rate of the first less that of the second."""
    title = f"{matches.game}: differences of win rates, in points of percent"
    found = {
        (agent, team): ends(matches, of_agent(agent, team))
        for agent in matches.agents
        for team in (*matches.teams, None)
    }
    rows = tuple(
        (one, other, *(difference(found[one, team], found[other, team], sampling) for team in (*matches.teams, None)))
        for one, other in combinations(matches.agents, 2)
    )
    if not rows:
        return Table("differences", title, absent="there is one agent alone", fill=LEAGUE)
    columns = ("One", "less the other", *(f"Team {team}" for team in matches.teams), OVERALL)
    notes = ("bootstrap over deals: every deal is drawn with all of its matches; n seats of both",)
    return Table("differences", title, columns, rows, notes, decimals=1, naming=2)


def votes(matches: Matches, sampling: Sampling, key: str = "votes", title: str = "") -> Table:
    """Votes that each agent received a match, from all and from people, and what it won: Table 4."""
    columns = ("Agent", "Avg. votes (lower is better)", "Avg. votes by people", "Win rate, %")
    title = title or f"{matches.game}: votes received, a match"
    if matches.matches and all(seat.votes is None for _, seat in matches.seats):
        return Table(key, title, absent=NO_VOTES.reason)
    rows = []
    for agent in matches.agents:
        mine = [(deal, seat) for deal, seat in matches.seats if seat.agent == agent]
        received = [(deal, float(seat.votes)) for deal, seat in mine if seat.votes is not None]
        people = [(deal, float(seat.votes_by_people)) for deal, seat in mine if seat.votes_by_people is not None]
        rows.append(
            (agent, _mean(received, sampling), _mean(people, sampling), win_rate(ends(matches, of_agent(agent))))
        )
    notes = (
        "votes: mean over the seats of an agent, deals drawn whole; by people: seats beside which a person played",
    )
    return Table(key, title, columns, tuple(rows), notes)


def silence(matches: Matches) -> Table:
    """How often a default act stood in for an agent of which nothing came."""
    rows = tuple(
        (agent, sum(seat.silent for _, seat in matches.seats if seat.agent == agent)) for agent in matches.agents
    )
    title = f"{matches.game}: acts of which nothing came"
    notes = ("the rules' default act stood in, or nothing was said",)
    return Table("silence", title, ("Agent", "acts"), rows, notes)


def _mean(values: Sequence[tuple[str, float]], sampling: Sampling) -> Figure:
    if not values:
        return Missing("no person sat beside it", "apportion world play werewolf CORPUS --with AGENT")
    return mean([deal for deal, _ in values], [value for _, value in values], sampling)


def _dealt(team: str) -> Callable[[Seat], bool]:
    return lambda seat: seat.dealt_team == team


def write_league(folder: Path, report: Report) -> tuple[Path, Path]:
    """Write all tables as JSON and as Markdown; equal results give equal bytes.

    Raises InputError: the folder cannot be written.
    """
    document, text = table_paths(folder)
    try:
        write_atomically(document, league_json(report) + "\n")
        write_atomically(text, report.markdown())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error}); free some space") from None
    return document, text


def league_json(report: Report) -> str:
    """The tables as JSON text."""
    return json.dumps(report.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
