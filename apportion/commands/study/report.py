"""`apportion study report`: what came of a study."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.shared.options import PATH, json_option
from apportion.commands.study.answers import database_option

FORMATS = ("html", "md", "tex", "json")


@click.command("report")
@click.argument("study", type=PATH)
@click.option("--out", "-o", type=PATH, metavar="FOLDER", help="[default: STUDY/report]")
@click.option("--format", "formats", type=click.Choice(FORMATS), multiple=True, help="[default: all]")
@click.option("--base", metavar="POLICY", help="Compare the others to this policy.  [default: the study's]")
@database_option
@click.option("--no-mixed", is_flag=True, help="Leave out the mixed models, which take longest.")
@click.option("--resamples", type=click.IntRange(100, 100_000), default=2000, show_default=True, help="Of bootstraps.")
@json_option("where the files are, and the size of the study")
def report_command(
    study: Path,
    out: Path | None,
    formats: tuple[str, ...],
    base: str | None,
    database: str | None,
    no_mixed: bool,
    resamples: int,
    as_json: bool,
) -> None:
    """Write what came of STUDY: tables with intervals, differences to the base, agreement, annotators, a judge beside.

    Four files: report.html (one page, no script), report.md, report.tex (booktabs) and report.json. This is where
    responses get their policies' names back: do it when the study is over.
    """
    from apportion.study.report.write import written

    found = written(
        study,
        out or study / "report",
        formats or FORMATS,
        base=base,
        database=database,
        mixed=not no_mixed,
        resamples=resamples,
    )
    if as_json:
        told = {"files": [str(path) for path in found.files], **dict(found.facts), "notes": list(found.report.notes)}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    for note in found.report.notes:
        click.echo(f"note: {note}")
    click.echo("; ".join(f"{name}: {value}" for name, value in found.facts))
    for path in found.files:
        click.echo(f"wrote {path}")
