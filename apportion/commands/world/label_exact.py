"""`apportion label shapley`: what acts of simulated sessions were worth, computed, as turn labels."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from apportion.commands.shared.options import CORPUS, PATH
from apportion.commands.shared.places import beside
from apportion.commands.shared.progress import shown_progress


@click.command("shapley")
@click.argument("corpus", type=CORPUS)
@click.option("--out", "-o", type=PATH, metavar="CORPUS", help="[default: CORPUS-labelled]")
@click.option("--rating", metavar="NAME", help="Only shares of this rating.  [default: of each]")
@click.option("--target", metavar="NAME", help="Only acts of this person.  [default: of everybody who is rated]")
@click.option(
    "--most-acts",
    type=click.IntRange(1, 16),
    default=10,
    show_default=True,
    help="Leave out episodes of more acts: each one doubles the histories.",
)
@click.option("--rollouts", type=click.IntRange(1, 1000), default=2, show_default=True, help="Plays of each history.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the plays.")
@click.option("--overwrite", is_flag=True, help="Replace another corpus in --out.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def shapley_command(
    corpus: Path,
    out: Path | None,
    rating: str | None,
    target: str | None,
    most_acts: int,
    rollouts: int,
    seed: int,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Compute what every act in CORPUS was worth, as turn labels that nobody judged.

    CORPUS is simulated, its agents are scripts, and rules score: all 2^n histories of an agent's n acts are played on,
    and its acts' Shapley values stand in the new corpus as labels by `computed:shapley`. `apportion benchmark` then
    tells which method finds them; no method sees them.
    """
    from apportion.corpus.corpus import Corpus
    from apportion.decompose.session_methods.exact_labels import ExactChoice, label_exactly

    out = out or beside(corpus, "labelled")
    choice = ExactChoice(Corpus.open(corpus), rating, target, most_acts, rollouts, seed)
    with shown_progress("label", "sessions", as_json) as progress:
        report = label_exactly(choice, out, overwrite=overwrite, progress=progress)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=1, sort_keys=True))
        return
    click.echo(str(report))
    named = rating or choice.corpus.tables["ratings"]["name"][0].as_py()
    methods = "--method savoir --method leave-one-out --method uniform"
    click.echo(f"next: apportion benchmark {shlex.quote(str(out))} --rating {shlex.quote(named)} {methods}")
