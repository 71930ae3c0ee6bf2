"""`apportion tables savoir`: policies with themselves and with partners, as SAVOIR reports them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.parts.options import json_option, option_names, with_options
from apportion.commands.simulated.tables import RATED_OPTIONS, hard_tasks_in


@click.command("savoir")
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--hard", type=click.Path(path_type=Path), metavar="FILE", help="Tasks that are hard.")
@click.option("--partner", metavar="AGENT", help="The fixed partner.  [default: whom most agents met]")
@click.option(
    "--size", "sizes", multiple=True, metavar="AGENT=N", help="Annotations of an agent's reward model; repeat."
)
@click.option("--out", "-o", type=click.Path(path_type=Path), metavar="FOLDER", help="Write text, Markdown and JSON.")
@click.option("--bootstrap", type=click.IntRange(100, 100_000), default=2000, show_default=True, help="Resamples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@json_option("the tables")
def tables_savoir_command(
    corpora: tuple[Path, ...],
    hard: Path | None,
    partner: str | None,
    sizes: tuple[str, ...],
    out: Path | None,
    bootstrap: int,
    seed: int,
    as_json: bool,
    judge: str | None,
    humans: tuple[str, ...],
) -> None:
    """Agents with themselves and with a fixed partner, on all and on hard tasks (Table 1), by partner (Figures 6, 7)
    and by the size of what a reward model learned from (Figure 8).

    Every CORPUS is simulated episodes with ratings.
    """
    from environments.sotopia.reports.raters import ReportChoice, read_rated
    from environments.sotopia.reports.trained import Compared, trained_report
    from foundation.intervals.resampling import Sampling

    rated = read_rated(ReportChoice(corpora, judge, (), humans, option_names()))
    compared = Compared(None if hard is None else hard_tasks_in(hard), partner, dict(map(_size, sizes)))
    made = trained_report(rated, compared, Sampling(bootstrap, seed))
    written = made.write(out) if out is not None else []
    click.echo(json.dumps(made.to_json(), indent=1, ensure_ascii=False) if as_json else made.text())
    if written and not as_json:
        click.echo(f"\nwrote {len(written)} files: {out}/report.md holds all tables")


def _size(given: str) -> tuple[str, int]:
    from foundation.errors import InputError

    name, equals, number = given.rpartition("=")
    if not (name and equals and number.isascii() and number.isdigit()):
        raise InputError(f"--size {given!r}: give an agent and a whole number, as --size policy@a=2000")
    return name, int(number)


with_options(RATED_OPTIONS, tables_savoir_command)
