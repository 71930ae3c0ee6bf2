"""`apportion study export` and `import`: answers and items to and from other programs."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from apportion.commands.shared.options import PATH
from apportion.commands.study.answers import database_option
from apportion.foundation.errors import InputError

KINDS = ("answers", "mturk", "label-studio", "turn-labels")


@click.command("export")
@click.argument("study", type=PATH)
@click.argument("out", type=PATH)
@click.option("--as", "kind", type=click.Choice(KINDS), default="answers", show_default=True)
@click.option("--corpus", type=PATH, help="For turn-labels: the corpus that the dialogues are of.")
@database_option
@click.option("--force", is_flag=True, help="Replace files that are there.")
def export_command(study: Path, out: Path, kind: str, corpus: Path | None, database: str | None, force: bool) -> None:
    """Write STUDY's answers or items for other programs.

    answers: OUT is a .csv, .parquet or .jsonl file of all answers, under the policies' names. mturk: OUT.csv, the input
    of a batch on Mechanical Turk, and OUT.html, its layout. label-studio: OUT.json, the tasks, and OUT.xml, the
    interface. turn-labels: OUT is a file of labels for `apportion label merge`.
    """
    if kind == "turn-labels":
        from apportion.viewer.labels.of_study import export_labels

        if corpus is None:
            raise InputError("--corpus: missing; give the corpus that the responses were generated from")
        click.echo(f"wrote {out} ({export_labels(study, corpus, out, database):,} labels)")
        click.echo(f"next: apportion label merge {shlex.quote(str(out))} {shlex.quote(str(corpus))} OUT")
        return
    from apportion.study.import_export.exchange import hand_out

    for path, what in hand_out(study, out, kind, database, force=force):
        click.echo(f"wrote {path} ({what})")


@click.command("import")
@click.argument("study", type=PATH)
@click.argument("source", type=PATH)
@database_option
def import_command(study: Path, source: Path, database: str | None) -> None:
    """Bring answers to STUDY that were given elsewhere.

    SOURCE is a results file of Mechanical Turk (.csv), an export of Label Studio (.json), or a table of answers that
    `apportion study export` wrote (.csv, .parquet, .jsonl), such as where the same study was served on another machine.
    The answers are kept in STUDY/imported; `apportion study report` counts them with those of the study's own pages.
    The same file again replaces what came of it.
    """
    from apportion.study.import_export.exchange import bring

    kept = bring(study, source, database)
    for note in kept.notes:
        click.echo(f"note: passed over: {note}")
    click.echo(f"{kept.path}: {kept.answers:,} answers by {kept.annotators:,} annotators")
    click.echo(f"next: apportion study report {study}")
