"""`apportion init`: a commented configuration for a corpus."""

from __future__ import annotations

from pathlib import Path

import click

from apportion.commands.options import option_names
from apportion.commands.places import check_place, write


@click.command("init")
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("apportion.toml"), show_default=True)
@click.option("--rating", help="Which rating to decompose, where the corpus has several.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def init_command(corpus: Path, output: Path, rating: str | None, force: bool) -> None:
    """Write a commented configuration for CORPUS."""
    from pipeline.template import template_for

    check_place(output, "--output", force=force)
    text, names = template_for(corpus, rating, option_names())
    write(output, "--output", text)
    click.echo(f"wrote {output}")
    if len(names) > 1 and rating is None:
        click.echo(
            f"the corpus has several ratings ({', '.join(names)}); {output} chooses {names[0]!r}: change it there"
        )
    click.echo(f"next: apportion run {output} --dry-run")
