"""`apportion score`: a saved reward model over a whole corpus."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import click


@click.command("score")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), default=Path("scores.parquet"), show_default=True, help="The file."
)
@click.option("--target", metavar="NAME", help="The speaker to score; by default those who were rated.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and no progress.")
def score_command(model: Path, corpus: Path, out: Path, target: str | None, force: bool, as_json: bool) -> None:
    """Score every target turn of CORPUS with MODEL, the folder of a saved reward model.

    Writes a Parquet table: session_id, rater, target, name, turn and reward. Sessions that cannot be read are named,
    and the exit code is then 1.
    """
    from pipeline.progress import StageProgress
    from pipeline.scoring import score_corpus

    with StageProgress(quiet=as_json) as progress:
        report = score_corpus(model, corpus, out, target, force, progress)
    click.echo(json.dumps(dataclasses.asdict(report), indent=1, sort_keys=True) if as_json else str(report))
    if report.left_out:
        sys.exit(1)
