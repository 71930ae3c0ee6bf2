"""`apportion simulate`: episodes of simulated environments as a corpus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.parts.options import model_options, option_names, with_options
from apportion.commands.parts.places import tell_corpus
from apportion.commands.simulated.tasks import SOURCE_OPTIONS

if TYPE_CHECKING:
    from corpus.placing import ImportReport
    from environments.sotopia.pricing import SimulationPricing
    from environments.sotopia.simulation import Choice

MODEL_OPTIONS = (
    *model_options("--model", "what agents know and say", 1000, "replies.sqlite in CORPUS"),
    click.option("--temperature", type=float, default=1.0, show_default=True, help="Of language models."),
    click.option("--preview", type=click.IntRange(1), metavar="N", help="Show the first N requests and stop."),
    click.option("--dry-run", is_flag=True, help="Say how many requests there are and what they would cost, and stop."),
)


@click.group("simulate")
def simulate_group() -> None:
    """Play simulated dialogues; what was played becomes a corpus like any other.

    Nobody spoke in it: sessions are marked as simulated wherever they show.
    """


@simulate_group.command("sotopia")
@click.argument("out", metavar="CORPUS", type=click.Path(path_type=Path))
@click.option("--agents", default="conceding", show_default=True, help="Who plays, by name, with commas between.")
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="A scenario; all without it.")
@click.option("--pairs", type=click.IntRange(1), default=5, show_default=True, help="Pairs of characters a scenario.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Episodes of every task.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
@click.option(
    "--visibility",
    type=click.Choice(["paper", "released"]),
    default="released",
    show_default=True,
    help="What is known of others: section 2.1, or what the released code shows.",
)
@click.option("--most-acts", type=click.IntRange(1), default=20, show_default=True, help="Acts in all, at most.")
@click.option("--overwrite", is_flag=True, help="Replace a corpus, with its log, that is already there.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def simulate_sotopia_command(
    out: Path,
    agents: str,
    scenarios: tuple[str, ...],
    pairs: int,
    repeats: int,
    seed: int,
    visibility: Any,
    most_acts: int,
    overwrite: bool,
    as_json: bool,
    temperature: float,
    preview: int | None,
    dry_run: bool,
    place: Path | None,
    named: str | None,
    **model: Any,
) -> None:
    """Play social episodes (SOTOPIA), scored by the judge `rules`.

    --agents are `conceding` and `random` (scripts), recorded@LOG#EPISODE, and `base`, `react` and `refine` (the
    language model --model; base@OTHER names another one of the same server). Every ordered pair of them plays every
    task. GOAL, FIN and SEC are scored where a scenario's rules can tell; that is not SOTOPIA-EVAL. The log and the
    replies lie beside the tables: the same command goes on after a kill, and pays for no reply twice.
    """
    from environments.sotopia import pricing
    from environments.sotopia.game import Rules
    from environments.sotopia.simulation import Choice, seated
    from llm_client.chosen import ChosenModel

    called = option_names()
    names = tuple(name.strip() for name in agents.split(",") if name.strip())
    rules, chosen = Rules(visibility, most_acts), ChosenModel(**model)
    choice = Choice(names, scenarios, pairs, repeats, seed, rules, chosen, temperature, called, place, named)
    if preview is not None:
        shown = pricing.preview(choice, preview)
        click.echo(json.dumps(shown.to_json(), indent=1, ensure_ascii=False) if as_json else shown.text())
    elif dry_run:
        _tell_price(pricing.price(choice), len(list(seated(choice))), as_json)
    else:
        tell_corpus(_played(choice, out, overwrite, as_json), out, as_json)


def _played(choice: Choice, out: Path, overwrite: bool, quiet: bool) -> ImportReport:
    from apportion.commands.parts.progress import shown_progress
    from environments.sotopia.simulation import seated, simulate_sotopia

    total, played = len(list(seated(choice))), 0
    with shown_progress("simulate", "episodes", quiet) as progress:

        def ended(count: int) -> None:
            nonlocal played
            played += count
            progress(played, total)

        return simulate_sotopia(choice, out, overwrite=overwrite, progress=ended)


def _tell_price(prices: Sequence[SimulationPricing], episodes: int, as_json: bool) -> None:
    if as_json:
        document = {"episodes": episodes, "language_models": [one.to_json() for one in prices]}
        click.echo(json.dumps(document, indent=1))
        return
    lines = [one.text() for one in prices] or ["no language model plays"]
    click.echo("\n".join([f"{episodes:,} episodes", *lines, "nothing was done (--dry-run)"]))


with_options((*SOURCE_OPTIONS, *MODEL_OPTIONS), simulate_sotopia_command)
