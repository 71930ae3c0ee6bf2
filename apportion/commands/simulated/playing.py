"""What every command that plays episodes shares: which ones, by whom, at which price, and how far they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.parts.options import LOOK_OPTIONS, json_option, model_options, option_names
from apportion.commands.parts.progress import shown_progress
from apportion.commands.simulated.tasks import SOURCE_OPTIONS

if TYPE_CHECKING:
    from corpus.placing import ImportReport
    from environments.negotiation.bargaining.simulation import BargainingChoice
    from environments.negotiation.casino.simulation import CasinoChoice
    from environments.negotiation.simulation import NegotiationChoice
    from environments.simulation import Simulation
    from environments.sotopia.simulation import SimulationChoice

_COUNT = click.IntRange(1)
_CONTEXTS = "Contexts as in Deal or No Deal's selfplay.txt; drawn by the seed without it."
RULE_OPTIONS = (
    click.option(
        "--visibility",
        type=click.Choice(["paper", "released"]),
        default="released",
        show_default=True,
        help="What is known of others: section 2.1, or what the released code shows.",
    ),
    click.option("--most-acts", type=_COUNT, default=20, show_default=True, help="Acts in all, at most."),
)
"""By which rules an episode is played."""
_SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
_HOW_OPTIONS = (
    click.option("--overwrite", is_flag=True, help="Replace a corpus, with its log, that is already there."),
    json_option(),
)
_MODEL_OPTIONS = (
    *model_options("--model", "what agents know and say", 1000, "replies.sqlite in CORPUS"),
    click.option("--temperature", type=float, default=1.0, show_default=True, help="Of language models."),
    *LOOK_OPTIONS,
)
EPISODE_OPTIONS = (
    click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="A scenario; all without it."),
    click.option("--pairs", type=_COUNT, default=5, show_default=True, help="Pairs of characters a scenario."),
    click.option("--repeats", type=_COUNT, default=1, show_default=True, help="Episodes of every task."),
    _SEED,
    *RULE_OPTIONS,
    *_HOW_OPTIONS,
    *SOURCE_OPTIONS,
    *_MODEL_OPTIONS,
)
"""Of social episodes: all but who plays, and where it is written."""
CONTEXT_OPTIONS = (
    click.option("--contexts", type=click.Path(path_type=Path), metavar="FILE", help=_CONTEXTS),
    click.option("--most-acts", type=_COUNT, default=20, show_default=True, help="Acts in all, at most."),
)
"""What is negotiated."""
BARGAIN_OPTIONS = (
    click.option("--games", type=_COUNT, default=100, show_default=True, help="Contexts that are played."),
    click.option("--repeats", type=_COUNT, default=1, show_default=True, help="Games of every context and pair."),
    _SEED,
    CONTEXT_OPTIONS[1],
    *_HOW_OPTIONS,
    *_MODEL_OPTIONS,
)
"""Of bargaining: all but who plays, and where it is written."""
GAME_OPTIONS = (CONTEXT_OPTIONS[0], *BARGAIN_OPTIONS)
"""Of negotiations: the same, and a file of contexts."""


def choice_of(
    agents: str,
    visibility: Any,
    most_acts: int,
    place: Path | None,
    named: str | None,
    paired: bool = False,
    **options: Any,
) -> SimulationChoice:
    """What the options of the running command choose; those that are left are the language model's."""
    from environments.sotopia.game import Rules
    from environments.sotopia.simulation import SimulationChoice
    from llm_client.chosen import ChosenModel

    own = {name: options.pop(name) for name in ("scenarios", "pairs", "repeats", "seed", "temperature")}
    return SimulationChoice(
        _names(agents),
        **own,
        rules=Rules(visibility, most_acts),
        chosen=ChosenModel(**options),
        called=option_names(),
        tasks=place,
        task_set=named,
        paired=paired,
    )


def negotiation_of(agents: str, paired: bool = False, **options: Any) -> NegotiationChoice:
    """What the options of the running command choose to negotiate."""
    from environments.negotiation.simulation import NegotiationChoice
    from llm_client.chosen import ChosenModel

    own = {name: options.pop(name) for name in ("games", "repeats", "seed", "contexts", "most_acts", "temperature")}
    return NegotiationChoice(_names(agents), **own, chosen=ChosenModel(**options), called=option_names(), paired=paired)


def bargaining_of(agents: str, **options: Any) -> BargainingChoice:
    """What the options of the running command choose to bargain about."""
    from environments.negotiation.bargaining.simulation import BargainingChoice
    from llm_client.chosen import ChosenModel

    own = {name: options.pop(name) for name in ("games", "repeats", "seed", "most_acts", "temperature")}
    return BargainingChoice(_names(agents), **own, chosen=ChosenModel(**options), called=option_names())


def casino_of(agents: str, **options: Any) -> CasinoChoice:
    """What the options of the running command choose to play of CaSiNo's game."""
    from environments.negotiation.casino.simulation import CasinoChoice
    from llm_client.chosen import ChosenModel

    own = {name: options.pop(name) for name in ("games", "repeats", "seed", "most_acts", "temperature")}
    return CasinoChoice(_names(agents), **own, chosen=ChosenModel(**options), called=option_names())


def _names(agents: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in agents.split(",") if name.strip())


def told_before(choice: Simulation, preview: int | None, dry_run: bool, as_json: bool) -> bool:
    """Say what would be asked, or what it would cost, where that is wanted; whether it was."""
    from environments.simulation import pricing

    if preview is not None:
        shown = pricing.preview(choice, preview)
        click.echo(json.dumps(shown.to_json(), indent=1, ensure_ascii=False) if as_json else shown.text())
    elif dry_run:
        prices, episodes = pricing.price(choice), choice.total
        if as_json:
            document = {"episodes": episodes, "language_models": [one.to_json() for one in prices]}
            click.echo(json.dumps(document, indent=1))
        else:
            lines = [one.text() for one in prices] or ["no language model plays"]
            click.echo("\n".join([f"{episodes:,} episodes", *lines, "nothing was done (--dry-run)"]))
    return preview is not None or dry_run


def played(choice: Simulation, out: Path, overwrite: bool, quiet: bool, stage: str = "simulate") -> ImportReport:
    """Play, and say how far it is."""
    from environments.simulation import write_corpus

    total, done = choice.total, 0
    with shown_progress(stage, "episodes", quiet) as progress:

        def ended(count: int) -> None:
            nonlocal done
            done += count
            progress(done, total)

        return write_corpus(choice, out, overwrite=overwrite, progress=ended)
