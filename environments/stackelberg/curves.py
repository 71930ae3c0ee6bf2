"""Figures 4, 5 and 10 of the Stackelberg Speaker: win rates by K, by language model, and by what was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion.environments.report_tables.chart import chart
from apportion.environments.report_tables.figures import Figure, Value
from apportion.environments.report_tables.table import AnnotatedCell, Cell, Table
from apportion.environments.stackelberg.games import AGAINST, AVERAGE, NO_TEAMS, cells_against, columns_of
from apportion.environments.stackelberg.variants import Variants
from apportion.environments.tournament.team_games.matches import Matches
from apportion.foundation.intervals.resampling import Sampling

PERCENT = (0.0, 100.0)


def figure_4(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """By K, the number of desired and of undesired responses."""
    title = "Figure 4 of the Stackelberg Speaker: desired and undesired responses, K of each"
    return _by_number("figure_4", title, "K", variants.intents, leagues, variants, sampling)


def figure_10(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """By the number of instances that a Refiner was trained on."""
    title = "Figure 10 of the Stackelberg Speaker: instances of training"
    return _by_number("figure_10", title, "Instances", variants.instances, leagues, variants, sampling)


def figure_5(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """By language model, each agent against the opponent with the same model, where one is named."""
    title = "Figure 5 of the Stackelberg Speaker: language models behind the agents"
    if not variants.models:
        return Table("figure_5", title, absent="of no agent the language model behind it was given")
    found = [league for league in leagues if league.by_teams.matches]
    rows: list[tuple[Cell, ...]] = []
    for played, behind in sorted(variants.models.items(), key=lambda item: (item[1], item[0])):
        opponent = variants.opponent(found, played)
        if opponent is None:
            return Table("figure_5", title, absent=NO_TEAMS)
        rows.append((behind, played, opponent, *cells_against(played, opponent, found, sampling)))
    columns = ("Model", "Agent", "against", *columns_of(found))
    places = list(dict.fromkeys(str(row[0]) for row in rows))
    lines: dict[str, list[Figure | None]] = {}
    for row in rows:
        model, agent = str(row[0]), str(row[1])
        for place, league in enumerate(found):
            name = f"{league.game}, {AVERAGE}: {agent.replace(f'@{model}', '')}"
            lines.setdefault(name, [None] * len(places))[places.index(model)] = _figure(row[3 * place + 5])
    label = "language model; win rate, mean of both teams, percent"
    picture = chart("Figure 5: language models", places, lines, label, PERCENT, joined=False)
    notes = (AGAINST.format(opponent="the opponent"),)
    return Table("figure_5", title, columns, tuple(rows), notes, picture=picture, naming=3, decimals=1)


def _by_number(
    key: str,
    title: str,
    what: str,
    numbers: Mapping[str, int],
    leagues: Sequence[Matches],
    variants: Variants,
    sampling: Sampling,
) -> Table:
    if not numbers:
        return Table(key, title, absent="of no agent this number was given")
    found = [league for league in leagues if league.by_teams.matches]
    opponent = variants.opponent(found)
    if opponent is None:
        return Table(key, title, absent=NO_TEAMS)
    agents = sorted(numbers, key=lambda agent: (numbers[agent], agent))
    rows = tuple((numbers[agent], agent, *cells_against(agent, opponent, found, sampling)) for agent in agents)
    names = columns_of(found)
    lines = {name: [_figure(row[2 + place]) for row in rows] for place, name in enumerate(names)}
    label = f"{what}; win rate against {opponent}, percent"
    picture = chart(
        title.replace(" of the Stackelberg Speaker", ""),
        [f"{numbers[agent]:,}" for agent in agents],
        lines,
        label,
        PERCENT,
    )
    notes = (AGAINST.format(opponent=opponent),)
    return Table(
        key, f"{title}, against {opponent}", (what, "Agent", *names), rows, notes, picture=picture, naming=2, decimals=1
    )


def _figure(cell: Cell) -> Figure | None:
    if isinstance(cell, AnnotatedCell):
        return cell.figure
    return cell if isinstance(cell, Value) else None
