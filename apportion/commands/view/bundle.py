"""`apportion bundle`: the viewer's pages as a folder that opens from a disk."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.shared.options import json_option
from apportion.foundation.errors import InputError


@click.command("bundle")
@click.argument("source", metavar="RUN_OR_CONFIG", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--corpus", type=click.Path(path_type=Path), help="The run's corpus, where it is not where run.json says."
)
@click.option(
    "--against", type=click.Path(path_type=Path), metavar="RUN", help="Another run of the corpus, to compare."
)
@click.option(
    "--responses", type=click.Path(path_type=Path), metavar="FILE", help="What policies answered, to compare."
)
@click.option("--labels", type=click.Path(path_type=Path), metavar="FILE", help="[default: RUN.labels.jsonl]")
@click.option("--media", is_flag=True, help="Copy the recordings, too.")
@click.option("--pseudonyms", is_flag=True, help="Give people other names; session ids stay.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="Replace this name, too; may be repeated.")
@json_option()
def bundle_command(
    source: Path,
    out: Path,
    corpus: Path | None,
    against: Path | None,
    responses: Path | None,
    labels: Path | None,
    media: bool,
    pseudonyms: bool,
    names: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the pages of `apportion view` into the folder OUT, which opens from a disk: open OUT/index.html.

    RUN_OR_CONFIG is a run folder or the configuration of a finished run. Transcripts are in the pages: they are as
    sensitive as the corpus. Recordings are left out unless asked for. What is at OUT is never replaced.
    """
    if names and not pseudonyms:
        raise click.UsageError("--name goes with --pseudonyms.")
    try:
        from apportion.viewer.bundle import write_bundle
    except ModuleNotFoundError as error:
        raise InputError(
            f"`apportion bundle` needs {error.name}. Install it with `pip install 'apportion[view]'`."
        ) from None
    from apportion.viewer.data.run_location import beside, open_place

    place = open_place(source, corpus)
    around = beside(place, labels, open_place(against, place.corpus) if against else None, responses)
    report = write_bundle(place, out, around=around, media=media, pseudonyms=pseudonyms, names=names)
    click.echo(json.dumps(report.to_json(), indent=1) if as_json else str(report))
