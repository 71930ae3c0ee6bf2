"""`apportion study demo`: a whole study of demo responses with simulated annotators."""

from __future__ import annotations

from pathlib import Path

import click

from apportion.commands.parts.options import option_names
from apportion.commands.parts.progress import shown_progress
from foundation.errors import InputError


@click.command("demo")
@click.argument("out", type=click.Path(path_type=Path), default=Path("runs/demo-study"))
@click.option(
    "--run",
    "finished",
    type=click.Path(path_type=Path),
    default=Path("runs/demo"),
    show_default=True,
    help="The folder that `apportion demo` wrote.",
)
@click.option("--criteria", default="geli", show_default=True, help="The questions: geli, pairs, savoir.")
@click.option("--contexts", type=click.IntRange(4, 1_000), default=30, show_default=True, help="Most dialogues.")
def demo_command(out: Path, finished: Path, criteria: str, contexts: int) -> None:
    """Show a study from responses to its report, with simulated annotators, into the folder OUT.

    The responses are those of the demo's policy before and after PPO. Who answers is SIMULATED, and finds the policy
    after PPO better by an effect that is planted: what the report says is not what people think.
    """
    from rlhf.compare.choice import Wanted, choose
    from study.definition.making import check_free
    from study.demo import AFTER, BEFORE, demo_study

    policy = finished / "policy"
    if not (policy / "base").is_dir():
        raise InputError(
            f"--run {finished}: no finished demo, since {policy / 'base'} is not there. Run `apportion demo`."
        )
    check_free(out)
    corpus = Path(__file__).resolve().parents[3] / "demo" / "corpus"
    wanted = Wanted(contexts=contexts, split="all")
    generation = choose([f"{AFTER}={policy}", f"{BEFORE}={policy / 'base'}"], corpus, wanted, option_names())
    with shown_progress("generate", "responses", False, where=True) as progress:
        table = generation.write(out.with_name(f"{out.name}-responses.parquet"), progress, 1)
    made = demo_study(table, out, criteria)
    for note in made.report.notes:
        click.echo(f"note: {note}")
    for line in made.lines():
        click.echo(line)
    for path in made.files:
        click.echo(f"wrote {path}")
    click.echo(f"next: open {made.files[0]}")
