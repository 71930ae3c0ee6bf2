"""What the commands that play games of sharing share: their options, and what these choose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import option_names
from apportion.commands.world.playing import COUNT, HOW_OPTIONS, MODEL_OPTIONS, SEED, names_of

if TYPE_CHECKING:
    from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
    from apportion.environments.negotiation.casino.simulation import CasinoChoice
    from apportion.environments.negotiation.simulation import NegotiationChoice

_CONTEXTS = "Contexts as in Deal or No Deal's selfplay.txt; drawn by the seed without it."
CONTEXT_OPTIONS = (
    click.option("--contexts", type=click.Path(path_type=Path), metavar="FILE", help=_CONTEXTS),
    click.option("--most-acts", type=COUNT, default=20, show_default=True, help="Acts in all, at most."),
)
"""What is negotiated."""
BARGAIN_OPTIONS = (
    click.option("--games", type=COUNT, default=100, show_default=True, help="Contexts that are played."),
    click.option("--repeats", type=COUNT, default=1, show_default=True, help="Games of every context and pair."),
    SEED,
    CONTEXT_OPTIONS[1],
    *HOW_OPTIONS,
    *MODEL_OPTIONS,
)
"""Of bargaining: all but who plays, and where it is written."""
SCENARIOS = click.option(
    "--scenarios", type=click.Path(path_type=Path), metavar="FILE", help="Bargains, as `import amazonhistoryprice` has."
)
GAME_OPTIONS = (CONTEXT_OPTIONS[0], *BARGAIN_OPTIONS)
"""Of negotiations: the same, and a file of contexts."""


def negotiation_of(agents: str, paired: bool = False, **options: Any) -> NegotiationChoice:
    """What the options of the running command choose to negotiate."""
    from apportion.environments.negotiation.simulation import NegotiationChoice

    contexts = options.pop("contexts")
    return NegotiationChoice(names_of(agents), contexts=contexts, paired=paired, **_chosen(options))


def bargaining_of(agents: str, **options: Any) -> BargainingChoice:
    """What the options of the running command choose to bargain about."""
    from apportion.environments.negotiation.bargaining.simulation import BargainingChoice

    scenarios = options.pop("scenarios")
    return BargainingChoice(names_of(agents), scenarios=scenarios, **_chosen(options))


def casino_of(agents: str, **options: Any) -> CasinoChoice:
    """What the options of the running command choose to play of CaSiNo's game."""
    from apportion.environments.negotiation.casino.simulation import CasinoChoice

    return CasinoChoice(names_of(agents), **_chosen(options))


def _chosen(options: dict[str, Any]) -> dict[str, Any]:
    """What every game takes; the options that are left are the language model's."""
    from apportion.llm_client.model_spec import ModelSpec

    own = {name: options.pop(name) for name in ("games", "repeats", "seed", "most_acts", "temperature")}
    return {**own, "chosen": ModelSpec(**options), "called": option_names()}
