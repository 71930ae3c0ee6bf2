"""`apportion world tasks sotopia hard`: the tasks that were hardest for a model, out of rated episodes."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option, option_names, with_options
from apportion.commands.shared.places import check_place, write
from apportion.commands.world.tables import RATED_OPTIONS
from apportion.commands.world.task_sets.task_file import FORCE_OPTION, next_step

DIMENSIONS = ("Overall", "GOAL", "BEL", "KNO", "SEC", "REL", "SOC", "FIN")


@click.command("hard")
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=CORPUS)
@click.option(
    "--model", "target", required=True, metavar="AGENT", help="For whom they are hard, as it is called there."
)
@click.option("-n", "--count", type=click.IntRange(1), default=20, show_default=True, help="So many tasks.")
@click.option(
    "--dimension", type=click.Choice(DIMENSIONS, case_sensitive=False), default="Overall", show_default=True,
    help="Whose scores are the rewards.",
)  # fmt: skip
@click.option("--out", "-o", type=PATH, metavar="FILE.toml", help="Write a file to be played.")
@click.option("--name", metavar="NAME", help="Of the set in the file.  [default: hard-for-AGENT]")
@click.option(
    "--tasks", "place", type=PATH, metavar="PLACE",
    help="Where tasks are that no log holds: a file (TOML) or published profiles.  [default: the bundled ones]",
)  # fmt: skip
@FORCE_OPTION
@json_option("the choice")
def hard_command(
    corpora: tuple[Path, ...],
    target: str,
    count: int,
    dimension: str,
    out: Path | None,
    name: str | None,
    place: Path | None,
    force: bool,
    as_json: bool,
    judge: str | None,
    humans: tuple[str, ...],
) -> None:
    """Choose hard tasks by the rule of SOTOPIA's section 7: where the best of all models could get most above the worst
    that AGENT could get, each estimated by three standard deviations within the range of scores.
    """
    from apportion.environments.sotopia.reports.hard_tasks import hard_tasks, played_space
    from apportion.environments.sotopia.reports.raters import ReportChoice, read_rated
    from apportion.environments.sotopia.sources.task_file import written
    from apportion.environments.sotopia.sources.task_sets import open_space
    from apportion.environments.terminal.console import printable

    if out is not None:
        check_place(out, "--out", (".toml",), force)
    rated = read_rated(ReportChoice(corpora, judge, (), humans, option_names()))
    hard = hard_tasks(rated, target, dimension, count)
    table = hard.table()
    if out is not None:
        space = played_space(hard, corpora, open_space(place), name or f"hard-for-{target}")
        origin = (
            f"{len(space.tasks)} tasks that are hard for {target} in {dimension}, by judge {hard.judge}: section 7."
        )
        write(out, "--out", written(space, (printable(origin),)))
    click.echo(json.dumps(table.to_json(), indent=1, ensure_ascii=False) if as_json else table.text())
    if out is not None and not as_json:
        click.echo(f"{out}: {count:,} tasks\n{next_step(out)}")


with_options(RATED_OPTIONS, hard_command)
