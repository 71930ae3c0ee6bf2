"""`apportion view`: a finished run in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from apportion.foundation.errors import InputError


@click.command("view")
@click.argument("source", metavar="RUN_OR_CONFIG", type=click.Path(path_type=Path))
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
@click.option("--session", metavar="ID", help="Open the page of this session.  [default: the list of all]")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port.  [default: the first free one from 8617 on]")
@click.option("--allow-remote", is_flag=True, help="Let other machines in, where --host is not of this machine alone.")
@click.option("--browser/--no-browser", default=True, help="Open the browser, or only print the address.")
def view_command(
    source: Path,
    corpus: Path | None,
    against: Path | None,
    responses: Path | None,
    labels: Path | None,
    session: str | None,
    host: str,
    port: int | None,
    allow_remote: bool,
    browser: bool,
) -> None:
    """Look at a run: its sessions, what each turn was worth by every method, and why.

    RUN_OR_CONFIG is a run folder or the configuration of a finished run. Pages are served to this machine alone, to
    whoever brings the token in the address that is printed; nothing is asked of another host.
    """
    try:
        from apportion.viewer.serve import is_loopback, serve
    except ModuleNotFoundError as error:
        raise InputError(
            f"`apportion view` needs {error.name}. Install it with `pip install 'apportion[view]'`."
        ) from None
    from apportion.viewer.data.run_location import beside, open_place

    if not is_loopback(host):
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
    place = open_place(source, corpus)
    other = open_place(against, place.corpus) if against else None
    serve(place, host, port, browser, click.echo, beside(place, labels, other, responses), session)
