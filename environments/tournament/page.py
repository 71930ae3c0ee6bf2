"""A tournament's table as Markdown, which reads well in a terminal, too."""

from __future__ import annotations

import json
from pathlib import Path

from apportion.environments.tournament.standings import (
    SAMPLING,
    AgentRow,
    Mean,
    PairedTest,
    PairRow,
    SeatingRow,
    Standing,
    Standings,
)
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.foundation.tables.markdown import escaped, markdown_table
from apportion.foundation.tables.numbers import NO_FIGURE, fixed, p_value

SIGNIFICANT, BEST = 0.05, "†"
_SEATS = ("first seat", "second seat", "third seat")


def page(table: Standings, title: str) -> str:
    """The whole page; ``title`` says what was played."""
    blocks = [f"# {escaped(title)}", summary(table)]
    blocks += [_dimension(one, table.judge) for one in table.dimensions]
    return "\n\n".join([*blocks, _meaning()]) + "\n"


def summary(table: Standings) -> str:
    """How many played, and what each agent reached over all seats and partners (SOTOPIA, Table 2)."""
    if not table.dimensions:
        return f"{_about(table)}\n\nNo score is known of any episode."
    header = ("agent", *(one.dimension for one in table.dimensions))
    columns = [_column(one) for one in table.dimensions]
    rows = [(agent, *cells) for agent, *cells in zip(table.agents, *columns, strict=True)]
    note = f"{BEST} the best of its column, better than the second best by a paired t-test (p < {SIGNIFICANT})."
    return "\n\n".join([_about(table), markdown_table(header, rows), note])


def _column(standing: Standing) -> list[str]:
    """Means over all seats, with a mark where the best is better than the second best by the test."""
    cells = [NO_FIGURE if row.all_seats is None else fixed(row.all_seats.value, 2) for row in standing.agents]
    known = [number for number, row in enumerate(standing.agents) if row.all_seats is not None]
    ranked = sorted(known, key=lambda number: -_value(standing.agents[number]))
    if len(ranked) > 1:
        names = {standing.agents[number].agent for number in ranked[:2]}
        test = next((row.test for row in standing.pairs if {row.one, row.other} == names), None)
        if test is not None and test.p is not None and test.p < SIGNIFICANT:
            cells[ranked[0]] += f" {BEST}"
    return cells


def _value(row: AgentRow) -> float:
    assert row.all_seats is not None
    return row.all_seats.value


def agents_table(standing: Standing) -> str:
    """What each agent reached in each seat."""
    seats = [_seat(seat) for seat in range(len(standing.agents[0].seats))]
    return markdown_table(("agent", *seats, "all seats", "tasks"), [_agent(row) for row in standing.agents])


def _about(table: Standings) -> str:
    text = f"{table.episodes:,} episodes of {table.tasks:,} tasks, simulated; scored by {escaped(table.judge)}."
    if table.unscored:
        why = "not ended, unusable acts, or the judge failed"
        text += f" {table.unscored:,} episodes have no score ({why}) and are in no figure."
    return f"{text} {escaped(table.unusable)}".rstrip()


def _dimension(standing: Standing, judge: str) -> str:
    seats = [_seat(seat) for seat in range(len(standing.agents[0].seats))]
    seating = markdown_table(("who sits where", *seats, "episodes"), [_seating(row) for row in standing.seatings])
    blocks = [f"## {escaped(standing.dimension)} by {escaped(judge)}", agents_table(standing), seating]
    if standing.pairs:
        header = ("difference", "mean", "t", "p", "tasks")
        blocks.append(markdown_table(header, [_pair(row) for row in standing.pairs]))
    return "\n\n".join(blocks)


def _seat(seat: int) -> str:
    return _SEATS[seat] if seat < len(_SEATS) else f"seat {seat + 1}"


def _agent(row: AgentRow) -> tuple[str, ...]:
    tasks = str(row.all_seats.tasks) if row.all_seats else "0"
    return (row.agent, *(_figure(mean) for mean in row.seats), _figure(row.all_seats), tasks)


def _seating(row: SeatingRow) -> tuple[str, ...]:
    return (", ".join(row.seating), *(_figure(mean) for mean in row.seats), str(row.episodes))


def _pair(row: PairRow) -> tuple[str, ...]:
    test: PairedTest = row.test
    t = NO_FIGURE if test.t is None else fixed(test.t, 2)
    p = NO_FIGURE if test.p is None else p_value(test.p)
    return (f"{row.one} – {row.other}", _figure(test.difference), t, p, str(test.tasks))


def _figure(mean: Mean | None) -> str:
    return NO_FIGURE if mean is None else mean.text(2)


def _meaning() -> str:
    return (
        f"In brackets: {SAMPLING.confidence:.0%} bootstrap intervals over tasks. A task counts once: repeats, then "
        "partners, then seats are averaged within it. Differences are of the same tasks, seats and partners, by a "
        "paired t-test over tasks (two-sided, not corrected for the number of tests). Scores of simulated play say "
        "nothing of people."
    )


def table_paths(folder: Path) -> tuple[Path, Path]:
    """Where the table lies, as JSON and as Markdown."""
    return folder / "tournament.json", folder / "tournament.md"


def write_table(folder: Path, table: Standings, title: str) -> tuple[Path, Path]:
    """Write the table as JSON and as Markdown; equal results give equal bytes.

    Raises InputError: the folder cannot be written.
    """
    document, text = table_paths(folder)
    try:
        write_atomically(document, as_json(table) + "\n")
        write_atomically(text, page(table, title))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error}); free some space") from None
    return document, text


def as_json(table: Standings) -> str:
    """The table as JSON text."""
    return json.dumps(table.to_json(), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
