"""What every command that plays episodes shares: which ones, by whom, at which price, and how far they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.looks import LOOK_OPTIONS
from apportion.commands.shared.options import json_option, model_options, option_names
from apportion.commands.shared.places import tell_corpus
from apportion.commands.shared.progress import shown_progress
from apportion.commands.world.task_sets.tasks import SOURCE_OPTIONS

if TYPE_CHECKING:
    from apportion.corpus.writer import ImportReport
    from apportion.environments.simulation import Simulation
    from apportion.environments.sotopia.simulation import SimulationChoice

COUNT = click.IntRange(1)
RULE_OPTIONS = (
    click.option(
        "--visibility",
        type=click.Choice(["paper", "released"]),
        default="released",
        show_default=True,
        help="What is known of others: section 2.1, or what the released code shows.",
    ),
    click.option("--most-acts", type=COUNT, default=20, show_default=True, help="Acts in all, at most."),
)
"""By which rules an episode is played."""
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
MOST_UNUSABLE = click.option(
    "--most-unusable", type=click.FloatRange(0, 1), default=0.25, show_default=True,
    help="Share of a seat's acts that may be unusable; above it a session has no score.",
)  # fmt: skip
HOW_OPTIONS = (
    MOST_UNUSABLE,
    click.option("--overwrite", is_flag=True, help="Replace a corpus, with its log, that is already there."),
    json_option(),
)
MODEL_OPTIONS = (
    *model_options("--model", "what agents know and say", 1000, "replies.sqlite in CORPUS"),
    click.option("--temperature", type=float, default=1.0, show_default=True, help="Of language models."),
    *LOOK_OPTIONS,
)
EPISODE_OPTIONS = (
    click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="A scenario; all without it."),
    click.option("--pairs", type=COUNT, default=5, show_default=True, help="Pairs of characters a scenario."),
    click.option("--repeats", type=COUNT, default=1, show_default=True, help="Episodes of every task."),
    SEED,
    *RULE_OPTIONS,
    *HOW_OPTIONS,
    *SOURCE_OPTIONS,
    *MODEL_OPTIONS,
)
"""Of social episodes: all but who plays, and where it is written."""


def choice_of(
    agents: str, visibility: Any, most_acts: int, place: Path | None, named: str | None, **options: Any
) -> SimulationChoice:
    """What the options of the running command choose; those that are left are the language model's."""
    from apportion.environments.sotopia.game import Rules
    from apportion.environments.sotopia.simulation import SimulationChoice
    from apportion.llm_client.model_spec import ModelSpec

    own = {name: options.pop(name) for name in ("scenarios", "pairs", "repeats", "seed", "temperature")}
    own |= {name: options.pop(name) for name in ("paired", "matches", "partner") if name in options}
    return SimulationChoice(
        names_of(agents),
        **own,
        rules=Rules(visibility, most_acts),
        chosen=ModelSpec(**options),
        called=option_names(),
        tasks=place,
        task_set=named,
    )


def names_of(agents: str) -> tuple[str, ...]:
    """The agents of one option, with commas between."""
    return tuple(name.strip() for name in agents.split(",") if name.strip())


def told_before(choice: Simulation, preview: int | None, dry_run: bool, as_json: bool) -> bool:
    """Say what would be asked, or what it would cost, where that is wanted; whether it was."""
    from apportion.environments.simulation import plan

    if preview is not None:
        shown = plan.preview(choice, preview)
        click.echo(json.dumps(shown.to_json(), indent=1, ensure_ascii=False) if as_json else shown.text())
    elif dry_run:
        prices = plan.price(choice)
        if as_json:
            document = {"episodes": choice.total, "language_models": [one.to_json() for one in prices]}
            click.echo(json.dumps(document, indent=1))
        else:
            click.echo(f"{_price_text(choice, prices)}\nnothing was done (--dry-run)")
    return preview is not None or dry_run


def tell_price(choice: Simulation, quiet: bool) -> None:
    """Say what is to be played and what it would cost, before anybody is asked; nothing where no model plays."""
    from apportion.environments.simulation import plan

    if choice.players.asks and not quiet:
        click.echo(_price_text(choice, plan.price(choice)), err=True)


def _price_text(choice: Simulation, prices: Sequence[Any]) -> str:
    lines = [one.text() for one in prices] or ["no language model plays"]
    return "\n".join([f"{choice.total:,} episodes", *lines])


def played(
    choice: Simulation, out: Path, overwrite: bool, most_unusable: float, quiet: bool, stage: str = "simulate"
) -> ImportReport:
    """Play, and say how far it is."""
    from apportion.environments.simulation import write_corpus

    total, done = choice.total, 0
    with shown_progress(stage, "episodes", quiet) as progress:

        def ended(count: int) -> None:
            nonlocal done
            done += count
            progress(done, total)

        return write_corpus(choice, out, overwrite=overwrite, most_unusable=most_unusable, progress=ended)


def simulate(
    choose: Callable[..., Simulation],
    out: Path,
    overwrite: bool,
    most_unusable: float,
    as_json: bool,
    preview: int | None,
    dry_run: bool,
    **chosen: Any,
) -> None:
    """`apportion world simulate`: what is chosen, played or told before."""
    choice = choose(**chosen)
    if not told_before(choice, preview, dry_run, as_json):
        tell_corpus(played(choice, out, overwrite, most_unusable, as_json), out, as_json)
