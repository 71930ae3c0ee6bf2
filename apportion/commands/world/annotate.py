"""`apportion label expert`: a person answers what a training asks an expert."""

from __future__ import annotations

from pathlib import Path

import click

from apportion.commands.shared.options import PATH


@click.command("expert")
@click.argument("queue", metavar="FOLDER", type=PATH)
@click.option("--by", default="person", show_default=True, metavar="ID", help="Who answers: an id, and no name.")
def expert_command(queue: Path, by: str) -> None:
    """Say what you would do in negotiations that a training found novel, one act at a time.

    FOLDER is where the training keeps its questions (questions.jsonl). You see what the seat sees that you act for: the
    items, its own values, and what was done. Ctrl-C or /stop stops; the same command goes on, even after a kill, and
    asks nothing twice. Start the training again when all is answered.
    """
    from apportion.environments.negotiation.expert_queries.asking import annotate
    from apportion.environments.terminal.console import terminal

    annotated = annotate(queue, by, terminal())
    plural = "" if annotated.answered == 1 else "s"
    click.echo(f"{annotated.answered:,} question{plural} answered, {annotated.left:,} left")
    if annotated.left:
        click.echo("next: the same command goes on with them")
    else:
        click.echo("next: start the training again; it goes on with the answers")
