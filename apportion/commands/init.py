"""`apportion init`: a commented configuration for a corpus."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from apportion.commands.presets import known_preset
from apportion.commands.shared.options import CORPUS, PATH, option_names
from apportion.commands.shared.places import check_place, write


@click.command("init")
@click.argument("corpus", type=CORPUS)
@click.option("--output", "-o", type=PATH, default=Path("apportion.toml"), show_default=True)
@click.option("--rating", help="Which rating to decompose, where the corpus has several.")
@click.option(
    "--align/--no-align",
    default=None,
    help="Whether a run fine-tunes a policy, too. Asked for in a terminal; elsewhere it does.",
)
@click.option(
    "--preset",
    metavar="NAME",
    callback=known_preset,
    help="Settings by name for the file to take: `paper`, LLM-GELI as published.",
)
@click.option("--all", "every", is_flag=True, help="Write every key, commented, not a newcomer's alone.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def init_command(
    corpus: Path, output: Path, rating: str | None, align: bool | None, preset: str | None, every: bool, force: bool
) -> None:
    """Write a commented configuration for CORPUS."""
    from apportion.pipeline.engine.load_corpus import REWARDS_WITHOUT
    from apportion.pipeline.template import template_for

    check_place(output, "--output", force=force)
    if align is None:
        align = not (sys.stdin.isatty() and sys.stderr.isatty()) or click.confirm(
            "Fine-tune a policy against the rewards, too?", default=True, err=True
        )
    text, names, row = template_for(
        corpus, rating, option_names(), align=align, base=output.parent, preset=preset, every=every
    )
    write(output, "--output", text)
    click.echo(f"wrote {output}{'' if row is None else f': {row}'}")
    if len(names) > 1 and rating is None:
        click.echo(
            f"the corpus has several ratings ({', '.join(names)}); {output} chooses {names[0]!r}: change it there"
        )
    if not names:
        click.echo(
            f"the corpus has no ratings: set align.reward_model in {output} to the folder of a reward model that "
            'another run has trained, or align.algorithm = "sft"; the policy answers for who speaks second '
            "(align.targets)"
        )
        click.echo(REWARDS_WITHOUT)
    click.echo(f"next: apportion run {output} --dry-run")
