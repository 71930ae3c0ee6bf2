"""`apportion study serve`: a study's pages for annotators."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path

import click

from apportion.commands.shared.options import PATH
from apportion.commands.study.answers import database_option, open_store
from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import imports_of

GAP = "[Who does this study"
"""How the part of a new study's consent begins that is left to who does it."""


@click.command("serve")
@click.argument("study", metavar="STUDY", type=PATH)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port.  [default: the first free one from 8617 on]")
@click.option("--allow-remote", is_flag=True, help="Let other machines in, where --host is not of this machine alone.")
@click.option("--public-url", metavar="URL", help="What annotators call it by, where that is a reverse proxy.")
@click.option(
    "--entries", type=click.IntRange(1), default=20, show_default=True,
    help="Annotators whom the public link lets in from one address in ten minutes.",
)  # fmt: skip
@database_option
def serve_command(
    study: Path, database: str | None, host: str, port: int | None, allow_remote: bool, public_url: str | None,
    entries: int,
) -> None:  # fmt: skip
    """Show a study to its annotators, each by a link of their own (`apportion study links`), and keep their answers.

    Pages are served to this machine alone; crowd workers come in through a reverse proxy that encrypts
    (docs/guides/people.md). Whose a response is stands in no page, and key.jsonl is not opened. Ctrl-C ends it; a later
    start goes on.
    """
    with imports_of("study", "`apportion study serve`"):
        from apportion.viewer.serve import is_loopback
        from apportion.viewer.study.serve import Listening, serve_study
    if not is_loopback(host):
        if not allow_remote:
            raise InputError(
                f"--host {host}: other machines could reach this study. Give --allow-remote if that is meant, or leave "
                "--host out and put a reverse proxy before it (docs/guides/people.md)."
            )
        click.echo(
            f"warning: whoever reaches {host} and has a link can read that annotator's items and answer them. The "
            "connection is not encrypted: anybody on the way can read links and answers.",
            err=True,
        )
    where = Listening(host, port, public_url, entries)
    with closing(open_store(study, database)) as store:
        if GAP in store.study.consent:
            click.echo(f"warning: {study / 'consent.md'} does not say yet who does this study: fill its gap.", err=True)
        serve_study(store, where, click.echo)
    click.echo(f"next: apportion study report {shlex.quote(str(study))}")
