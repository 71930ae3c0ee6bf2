"""`apportion view`: a finished run in the browser, or as a folder of pages that opens from a disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option
from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import imports_of


@click.command("view")
@click.argument("source", metavar="RUN_OR_CONFIG", type=PATH)
@click.option("--export", type=PATH, metavar="OUT", help="Write the pages into the folder OUT.")
@click.option("--session", metavar="ID", help="Open the page of this session.  [default: the list of all]")
@click.option("--corpus", type=CORPUS, help="The run's corpus.  [default: where run.json says]")
@click.option("--against", type=PATH, metavar="RUN", help="Another run of the corpus, to compare.")
@click.option("--responses", type=PATH, metavar="FILE", help="What policies answered, to compare.")
@click.option("--labels", type=PATH, metavar="FILE", help="[default: RUN.labels.jsonl]")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port.  [default: the first free one from 8617 on]")
@click.option("--allow-remote", is_flag=True, help="Let other machines in, where --host is not of this machine alone.")
@click.option("--browser/--no-browser", default=True, help="Open the browser, or only print the address.")
@click.option("--media", is_flag=True, help="With --export: copy the recordings, too.")
@click.option("--pseudonyms", is_flag=True, help="With --export: give people other names; session ids stay.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="With --pseudonyms: replace this name, too.")
@json_option("what --export wrote")
def view_command(
    source: Path,
    export: Path | None,
    session: str | None,
    corpus: Path | None,
    against: Path | None,
    responses: Path | None,
    labels: Path | None,
    host: str,
    port: int | None,
    allow_remote: bool,
    browser: bool,
    as_json: bool,
    **written: Any,
) -> None:
    """Look at a run: its sessions, what each turn was worth by every method, and why.

    RUN_OR_CONFIG is a run folder or the configuration of a finished run. Pages are served to this machine alone, to
    whoever brings the token in the address that is printed; nothing is asked of another host. With --export they are
    written into a new folder: open OUT/index.html. Transcripts are in the pages, recordings only where asked for.
    """
    _check_given(export, as_json, written)
    with imports_of("view", "`apportion view`"):
        from apportion.viewer.bundle import write_bundle
        from apportion.viewer.serve import is_loopback, serve
    from apportion.viewer.data.run_location import beside, open_place

    if export is None and not is_loopback(host):
        _warn_of(host, allow_remote)
    place = open_place(source, corpus)
    around = beside(place, labels, open_place(against, place.corpus) if against else None, responses)
    if export is None:
        serve(place, host, port, browser, click.echo, around, session)
        return
    report = write_bundle(place, export, around=around, **written)
    click.echo(json.dumps(report.to_json(), indent=1) if as_json else str(report))


def _check_given(export: Path | None, as_json: bool, written: Mapping[str, Any]) -> None:
    if written["names"] and not written["pseudonyms"]:
        raise click.UsageError("--name goes with --pseudonyms.")
    given = [f"--{name}" for name, value in {**written, "json": as_json}.items() if value]
    if export is None and given:
        raise click.UsageError(f"{given[0]} goes with --export.")


def _warn_of(host: str, allow_remote: bool) -> None:
    if not allow_remote:
        raise InputError(
            f"--host {host}: other machines could reach this run's transcripts and recordings. Give --allow-remote "
            "if that is meant, or leave --host out."
        )
    click.echo(
        f"warning: whoever reaches {host} and knows the token can read all transcripts, recordings and rewards of "
        "this run, and write labels. The connection is not encrypted: anybody on the way can read it, too.",
        err=True,
    )
