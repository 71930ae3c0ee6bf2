"""`apportion export`: a run's utterances, behaviour and descriptors for ELAN or Praat, its rewards for trainers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from apportion.commands.parts.options import json_option


@click.command("export")
@click.argument("source", metavar="RUN_OR_CONFIG", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["eaf", "textgrid", "dataset"]),
    required=True,
    help="ELAN, Praat, or a Hugging Face dataset of messages and rewards.",
)
@click.option("--out", "-o", type=click.Path(path_type=Path), required=True, help="The folder for the files.")
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Only this session; may be given again.")
@click.option("--method", "methods", multiple=True, metavar="NAME", help="Only this method's rewards (dataset).")
@click.option(
    "--corpus", type=click.Path(path_type=Path), help="The run's corpus, where RUN_OR_CONFIG is a run folder."
)
@click.option("--force", is_flag=True, help="Replace files that are there and differ.")
@json_option(quiet=True)
def export_command(
    source: Path,
    kind: str,
    out: Path,
    sessions: tuple[str, ...],
    methods: tuple[str, ...],
    corpus: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write one ELAN (.eaf) or Praat (.TextGrid) file a session, or a run's rewards as a dataset for other trainers.

    A tier a speaker holds the utterances, a tier a person and feature the behaviour, a tier a rater and window the
    descriptors. RUN_OR_CONFIG is the configuration of a finished run, or its folder together with --corpus. Exit
    code 1 where a session could not be exported.
    """
    from pipeline.engine.progress import StageProgress
    from pipeline.results.annotation_files import ExportReport, export_run
    from pipeline.results.dataset import DatasetReport, export_dataset
    from pipeline.results.run_folder import open_run

    if methods and kind != "dataset":
        raise click.UsageError(f"--method goes with --format dataset, not with {kind}.")
    run = open_run(source, corpus)
    report: ExportReport | DatasetReport
    if kind == "dataset":
        report = export_dataset(run, out, methods, sessions, force)
    else:
        with StageProgress(quiet=as_json) as progress:
            report = export_run(run, "eaf" if kind == "eaf" else "textgrid", out, sessions, force, progress)
    click.echo(json.dumps(report.to_json(), indent=1, sort_keys=True) if as_json else str(report))
    if report.refused or (isinstance(report, ExportReport) and report.failed):
        sys.exit(1)
