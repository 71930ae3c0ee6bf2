"""Table 6 of the Stackelberg Speaker: how near answers come to what the speaker wanted, by epoch of training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.files.textfile import read_jsonl
from apportion.environments.report_tables.chart import chart
from apportion.environments.report_tables.table import AnnotatedCell, Cell, Figure, Table, Value, mean
from apportion.environments.stackelberg.games import AGAINST, AVERAGE, NO_TEAMS, Variants, cells_against, columns_of
from apportion.environments.tournament.team_games.matches import Matches
from apportion.environments.tournament.team_games.rates import TEAMS
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

START = 0
"""The epoch before any training."""


@dataclass(frozen=True)
class CosineSimilarity:
    """One instance: by a Refiner of an epoch, the mean cosine of the answer that came and the K that were desired."""

    epoch: int
    session: str
    turn: int
    similarity: float


def read_nearness(path: Path) -> tuple[CosineSimilarity, ...]:
    """A file of JSON Lines with ``epoch``, ``session``, ``turn`` and ``similarity``; further fields are passed over.

    Raises InputError: it cannot be read, is empty, or a line has something else, by number.
    """
    found = tuple(_nearness(path, number, row) for number, row in read_jsonl(path, allow_empty=True))
    if not found:
        raise InputError(f"{path}: holds no similarity; write it with `apportion train refiner-eval`")
    return found


def table_6(instances: tuple[CosineSimilarity, ...], sampling: Sampling) -> Table:
    """By epoch the mean similarity, and what it is more than at the start, on the same instances.

    ``instances``: None at all: the table says that it is not there. ``sampling``: Sessions are drawn whole.
    """
    title = "Table 6 of the Stackelberg Speaker: cosine of the answer that came and the desired ones"
    if not instances:
        return Table(
            "table_6",
            title,
            absent="no file of similarities was given",
            fill="--persuasion FILE, as apportion train refiner-eval writes it",
        )
    epochs = sorted({one.epoch for one in instances})
    rows: list[tuple[Cell, ...]] = []
    means: list[Figure | None] = []
    for epoch in epochs:
        mine = [one for one in instances if one.epoch == epoch]
        figure = mean([one.session for one in mine], [one.similarity for one in mine], sampling)
        means.append(figure)
        rows.append((epoch, figure, _more(instances, epoch, sampling)))
    picture = chart(
        "Table 6: nearness to the desired answers", [str(epoch) for epoch in epochs], {"mean cosine": means},
        "epoch of training", (min(0.0, *(one.similarity for one in instances)), 1.0),
    )  # fmt: skip
    notes = (
        "mean [95 % interval] over instances, n of them, sessions drawn whole; more: less epoch 0, paired by instance",
        "cosines of different embeddings are not comparable: the paper's are of another model",
    )
    return Table("table_6", title, ("Epoch", "Cosine", "more than at the start"), tuple(rows), notes, picture=picture)


def _more(instances: tuple[CosineSimilarity, ...], epoch: int, sampling: Sampling) -> Figure:
    start = {(one.session, one.turn): one.similarity for one in instances if one.epoch == START}
    pairs = [
        (one.session, one.similarity - start[one.session, one.turn])
        for one in instances
        if one.epoch == epoch != START and (one.session, one.turn) in start
    ]
    if not pairs:
        return Missing("epoch 0 is the start" if epoch == START else "epoch 0 has none of these instances")
    return mean([session for session, _ in pairs], [value for _, value in pairs], sampling)


def _nearness(path: Path, number: int, row: Mapping[str, Any]) -> CosineSimilarity:
    try:
        epoch, session, turn, similarity = row["epoch"], row["session"], row["turn"], row["similarity"]
        whole = type(epoch) is int and type(turn) is int and min(epoch, turn) >= 0
        if not (whole and isinstance(session, str) and type(similarity) in (int, float) and math.isfinite(similarity)):
            raise ValueError("epoch and turn are whole numbers from 0, session is text, similarity a number")
        if not -1.000001 <= similarity <= 1.000001:
            raise ValueError(f"similarity = {similarity}; a cosine lies between -1 and 1")
    except (ValueError, KeyError) as error:
        raise InputError(f"{path}, line {number}: no similarity of an instance ({error}): {row!r:.120}") from None
    return CosineSimilarity(epoch, session, turn, float(similarity))


PERCENT = (0.0, 100.0)


def figure_4(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """By K, the number of desired and of undesired responses."""
    title = "Figure 4 of the Stackelberg Speaker: desired and undesired responses, K of each"
    return _by_number("figure_4", title, "K", "intents", variants.intents, leagues, variants, sampling)


def figure_10(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """By the number of instances that a Refiner was trained on."""
    title = "Figure 10 of the Stackelberg Speaker: instances of training"
    return _by_number("figure_10", title, "Instances", "instances", variants.instances, leagues, variants, sampling)


def figure_5(leagues: Sequence[Matches], variants: Variants, sampling: Sampling) -> Table:
    """By language model, each agent against the opponent with the same model, where one is named."""
    title = "Figure 5 of the Stackelberg Speaker: language models behind the agents"
    if not variants.models:
        return Table(
            "figure_5", title, absent="of no agent the language model behind it was given", fill="--backend AGENT=MODEL"
        )
    found = [league for league in leagues if league.by_teams.matches]
    rows: list[tuple[Cell, ...]] = []
    for played, behind in sorted(variants.models.items(), key=lambda item: (item[1], item[0])):
        opponent = variants.opponent(found, played)
        if opponent is None:
            return Table("figure_5", title, absent=NO_TEAMS, fill=TEAMS)
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
    option: str,
    numbers: Mapping[str, int],
    leagues: Sequence[Matches],
    variants: Variants,
    sampling: Sampling,
) -> Table:
    if not numbers:
        return Table(key, title, absent="of no agent this number was given", fill=f"--{option} AGENT=N")
    found = [league for league in leagues if league.by_teams.matches]
    opponent = variants.opponent(found)
    if opponent is None:
        return Table(key, title, absent=NO_TEAMS, fill=TEAMS)
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
