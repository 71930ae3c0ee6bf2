"""A study's tables: what agents reached with people (Figure 4), and what people thought of them (Figures 4 and 9)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from apportion.environments.negotiation.human_study.results import StudiedGame, StudyResults
from apportion.environments.negotiation.human_study.survey import FIGURE_4, HIGH, LOW, SURVEY
from apportion.environments.terminal.console import printable
from apportion.environments.tournament.standings import SAMPLING, Mean, mean_over_tasks
from apportion.foundation.tables.markdown import escaped, markdown_table

Value = Callable[[StudiedGame], float | None]
REACHED: Mapping[str, Value] = {
    "advantage": lambda game: game.points[0] - game.points[1],
    "Pareto-optimal, of deals (%)": lambda game: None if game.pareto is None else 100.0 * game.pareto,
    "agreement (%)": lambda game: 100.0 * game.agreed,
    "points": lambda game: game.points[0],
    "points of the person": lambda game: game.points[1],
    "acts": lambda game: float(game.acts),
}
"""Section 6's metrics of Alice, a value a game; None: the game has none."""


@dataclass(frozen=True)
class StudyTable:
    """One table: by agent and column a mean over participants with its interval; None: nobody has a value."""

    title: str
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Mean | None]]


def tables(results: StudyResults) -> tuple[StudyTable, ...]:
    """The tables of Figures 4 and 9; an agent a row, in the order of the study's file."""

    def answered(name: str) -> Value:
        def value(game: StudiedGame) -> float | None:
            answer = game.answers.get(name)
            return float(answer) if isinstance(answer, int) else None

        return value

    def table(title: str, columns: Mapping[str, Value]) -> StudyTable:
        rows = {
            agent: {name: _mean(results, agent, value) for name, value in columns.items()} for agent in results.agents
        }
        return StudyTable(title, tuple(columns), rows)

    scaled = [question.name for question in SURVEY if question.scaled]
    return (
        table("What Alice reached (Figure 4)", REACHED),
        table("What people thought (Figure 4)", {name: answered(name) for name in FIGURE_4}),
        table("All questions with a scale (Figure 9)", {name: answered(name) for name in scaled}),
    )


def _mean(results: StudyResults, agent: str, value: Value) -> Mean | None:
    """The mean over participants of each one's mean over games with an agent."""
    values: dict[str, list[float]] = defaultdict(list)
    for game in results.games:
        found = value(game) if game.agent == agent else None
        if found is not None:
            values[game.participant].append(found)
    means = [sum(own) / len(own) for own in values.values()]
    return mean_over_tasks(means) if means else None


def as_markdown(title: str, results: StudyResults) -> str:
    """The report as a page; what people have written in words stands at its end, without saying who."""
    parts = [
        f"# {escaped(printable(title))}",
        f"People who took part: {results.took_part}, not to the end: {results.unfinished}, who did not agree to: "
        f"{results.declined}. Games: {len(results.games)}.",
        f"Each figure is a mean over people, with its {SAMPLING.confidence:.0%} interval (percentile bootstrap over "
        f"people) in brackets and the number of people behind it. Questions were answered from {LOW} to {HIGH}. "
        "Novelty is not told: it needs the probabilities of a partner's model.",
    ]
    for table in tables(results):
        cells = [[agent, *(_cell(row[name]) for name in table.columns)] for agent, row in table.rows.items()]
        parts += [f"## {table.title}", markdown_table(("agent", *table.columns), cells)]
    ends = [(one.name, one.text, f"{one.low} to {one.high}") for one in SURVEY if one.scaled]
    parts += ["## The questions", markdown_table(("name", "question", "scale"), ends)]
    comments = [
        (game.agent, printable(str(words))) for game in results.games if (words := game.answers.get("comments"))
    ]
    if comments:
        parts += ["## Comments", markdown_table(("agent", "comment"), comments)]
    return "\n\n".join(parts) + "\n"


def as_json(title: str, results: StudyResults) -> str:
    """The same as JSON."""
    document: dict[str, Any] = {
        "title": title,
        "people": {"took_part": results.took_part, "declined": results.declined, "unfinished": results.unfinished},
        "games": len(results.games),
        "confidence": SAMPLING.confidence,
        "tables": [
            {
                "title": table.title,
                "rows": {
                    agent: {name: None if mean is None else _record(mean) for name, mean in row.items()}
                    for agent, row in table.rows.items()
                },
            }
            for table in tables(results)
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _record(mean: Mean) -> dict[str, Any]:
    record = asdict(mean)
    return {"people": record.pop("tasks"), **record}


def _cell(mean: Mean | None) -> str:
    if mean is None:
        return "–"
    return f"{mean.text(2)} (n = {mean.tasks})"
