"""`apportion study links`: a link for each annotator."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from apportion.commands.shared.options import PATH
from apportion.commands.study.answers import database_option, open_store


@click.command("links")
@click.argument("study", type=PATH, metavar="STUDY")
@click.option("--annotators", type=click.IntRange(1, 10_000), required=True, help="How many links to make.")
@click.option("--address", default="http://127.0.0.1:8617", show_default=True, help="Where the pages are served.")
@database_option
def links_command(study: Path, annotators: int, address: str, database: str | None) -> None:
    """Print new links, one an annotator: the id, a tab, the address.

    They are told this once; the database has their hashes alone. Whoever has a link answers as that annotator.
    """
    from apportion.study.store.links import served_address

    base = served_address(address, "--address")
    with closing(open_store(study, database)) as store:
        for link in store.add_links(annotators):
            click.echo(f"{link.annotator}\t{link.address(base)}")
