"""What the commands that play negotiations share, which are about things or a price: options, and what these choose."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import PATH, option_names
from apportion.commands.world.playing import COUNT, HOW_OPTIONS, MODEL_OPTIONS, SEED, names_of
from apportion.environments.worlds import WORLDS

if TYPE_CHECKING:
    from apportion.environments.negotiation.pairing import PairChoice

MOST_ACTS = click.option("--most-acts", type=COUNT, default=20, show_default=True, help="Acts in all, at most.")
_CONTEXTS = "Contexts as in Deal or No Deal's selfplay.txt; drawn by the seed without it."
CONTEXTS = click.option("--contexts", type=PATH, metavar="FILE", help=_CONTEXTS)
SCENARIOS = click.option("--scenarios", type=PATH, metavar="FILE", help="Bargains, as `import amazonhistoryprice` has.")
ABOUT: dict[str, tuple[Any, ...]] = {"negotiation": (CONTEXTS,), "bargaining": (SCENARIOS,), "casino": ()}
"""By world, what says which of its games are played."""
PAIR_OPTIONS = (
    click.option("--games", type=COUNT, default=100, show_default=True, help="Contexts that are played."),
    click.option("--repeats", type=COUNT, default=1, show_default=True, help="Games of every context and pair."),
    SEED,
    MOST_ACTS,
    *HOW_OPTIONS,
    *MODEL_OPTIONS,
)
"""All else but who plays, and where it is written."""


def pairs_of(world: str, agents: str, paired: bool = False, **options: Any) -> PairChoice:
    """What the options of the running command choose to play; the options that are left are the language model's."""
    from apportion.llm_client.model_spec import ModelSpec

    fields = ("games", "repeats", "seed", "most_acts", "temperature", "contexts", "scenarios")
    own = {name: options.pop(name) for name in fields if name in options}
    return choice_in(world)(names_of(agents), **own, paired=paired, chosen=ModelSpec(**options), called=option_names())


def choice_in(world: str) -> type[PairChoice]:
    """What of a world is played, and by whom."""
    (place,) = [one.choice for one in WORLDS if one.name == world and one.choice is not None]
    choice: type[PairChoice] = resolve_name(place)
    return choice
