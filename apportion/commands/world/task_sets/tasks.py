"""`apportion world tasks`: which tasks there are to be simulated, and a sample of them as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import PATH, json_option, with_options
from apportion.commands.shared.places import check_place, write
from apportion.commands.world.task_sets.generation import accept_command, generate_command
from apportion.commands.world.task_sets.hard import hard_command
from apportion.commands.world.task_sets.task_file import BUNDLED, FORCE_OPTION, next_step

SOURCE_OPTIONS = (
    click.option(
        "--tasks",
        "place",
        type=PATH,
        metavar="PLACE",
        help=f"A file of tasks (TOML), or a folder of published profiles.  {BUNDLED}",
    ),
    click.option("--set", "named", metavar="NAME", help="A named set out of them, such as savoir-hard."),
)
"""Where tasks come from; what simulates them has the same options."""


@click.group("tasks")
def tasks_group() -> None:
    """Tasks of simulated dialogues: which there are, samples of them, new ones."""


@tasks_group.group("sotopia")
def sotopia_tasks() -> None:
    """Tasks of SOTOPIA: a scenario, who plays it, and what each of them wants."""


@sotopia_tasks.command("list")
@click.option("--sets", is_flag=True, help="The named sets instead, and what each of them needs.")
@json_option("the list")
def list_command(sets: bool, as_json: bool, place: Path | None, named: str | None) -> None:
    """List scenarios and characters: who knows whom, constraints, what rules can check; no goals, no secrets."""
    from apportion.environments.sotopia.sources.task_sets import SETS, chosen_space, overview

    if sets:
        rows = [{"name": one.name, "holds": one.holds, "needs": one.needs} for one in SETS.values()]
        click.echo(json.dumps(rows, indent=1) if as_json else "\n".join(map(_set_text, rows)))
        return
    told = overview(chosen_space(place, named))
    click.echo(json.dumps(told, indent=1, ensure_ascii=False) if as_json else _text(told))


@sotopia_tasks.command("sample")
@click.argument("out", metavar="FILE.toml", type=PATH)
@click.option("-n", "--count", type=click.IntRange(1), metavar="N", help="So many tasks.  [default: all]")
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="A scenario; all without it.")
@click.option("--pairs", type=click.IntRange(1), default=5, show_default=True, help="Pairs of characters a scenario.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@FORCE_OPTION
def sample_command(
    out: Path,
    count: int | None,
    scenarios: tuple[str, ...],
    pairs: int,
    seed: int,
    force: bool,
    place: Path | None,
    named: str | None,
) -> None:
    """Draw tasks and write them as a file that `simulate sotopia --tasks FILE` plays as it stands."""
    from apportion.environments.sotopia.sources.task_file import written
    from apportion.environments.sotopia.sources.task_sets import chosen_space, sampled

    check_place(out, "FILE", (".toml",), force)
    space = chosen_space(place, named).only(scenarios)
    drawn = sampled(space, count, pairs=pairs, seed=seed)
    origin = f"{len(drawn.tasks)} tasks, drawn with seed {seed} from {space.place if place is None else place.name}."
    write(out, "FILE", written(drawn, (origin, *space.notes)))
    click.echo(
        f"{out}: {len(drawn.tasks):,} tasks, {len(drawn.scenarios):,} scenarios, {len(drawn.characters):,} characters"
    )
    click.echo(next_step(out))


def _set_text(row: Mapping[str, str]) -> str:
    return f"{row['name']}: {row['holds']}\n  {row['needs']}"


def _text(told: Mapping[str, Any]) -> str:
    scenarios, characters = told["scenarios"], told["characters"]
    head = f"{told['place']}: {len(scenarios):,} scenarios, {len(characters):,} characters"
    lines = [head, *(f"note: {note}" for note in told["notes"]), ""]
    lines += _columns([("scenario", "relationship", "pairs", "stated", "rules check", "constraint", "source")] + [
        (
            one["name"], one["relationship"], "-" if one["pairs"] is None else str(one["pairs"]),
            str(one["stated_tasks"] or "-"), ", ".join(one["rules_check"]) or "-", _constraint(one), one["source"],
        )
        for one in scenarios
    ])  # fmt: skip
    rows = [(one["name"], str(one["age"] or "-"), one["occupation"] or "-", _knows(one["knows"])) for one in characters]
    return "\n".join([*lines, "", *_columns([("character", "age", "occupation", "knows"), *rows])])


def _constraint(one: Mapping[str, Any]) -> str:
    ages = {tuple(ages) for ages in one["ages"]}
    words = [f"{low} to {high}" for low, high in sorted(ages)]
    words += [f"{seat}: {' or '.join(suits)}" for seat, suits in enumerate(one["occupations"], 1) if suits]
    return "; ".join(words) or "-"


def _knows(knows: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(f"{one['name']} ({one['relationship']})" for one in knows) or "nobody"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows under each other; what a terminal would act on is spelled out."""
    from apportion.environments.terminal.console import printable
    from apportion.foundation.tables.columns import columns

    return columns([[printable(cell) for cell in row] for row in rows])


for _command in (list_command, sample_command):
    with_options(SOURCE_OPTIONS, _command)
for _command in (generate_command, accept_command, hard_command):
    sotopia_tasks.add_command(_command)
