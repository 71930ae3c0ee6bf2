"""What a game is to those who play any of them: its options, its environment, its agents; and the table of games."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from pydantic import TypeAdapter, ValidationError

from apportion.environments.agents.registry import MADE_OF, AgentRegistry, agents_by_name
from apportion.environments.deduction.base_game import Deduction
from apportion.environments.deduction.events import Deal
from apportion.environments.deduction.language_model import FORM
from apportion.environments.environment import Environment
from apportion.environments.simulation.rule_scored import GameSimulator
from apportion.environments.worlds import WORLDS
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.registry import Registry
from apportion.foundation.settings import problems
from apportion.llm_client.model_spec import Called

LEARNED = ("strategist", "sla", "lspo", "rl-ins")
"""Agents that are made of a file, which `train player` writes."""


def roster_of(game: str, ours: Mapping[str, str]) -> AgentRegistry:
    """The roster of a game: ``random``, ``recorded@LOG#EPISODE``, the game's own scripts, a package's, and models.

    ``game``: Its kind; packages bring agents as entry points of ``apportion.GAME_agents``. ``ours``: By name the place
    of the game's own scripts.
    """
    scripts = {"random": "apportion.environments.deduction.scripts:Random", **ours}
    made_of = (*MADE_OF, *(f"{name}@FILE" for name in LEARNED if name in ours))
    return AgentRegistry(agents_by_name(f"apportion.{game}_agents", scripts), FORM, made_of)


@dataclass(frozen=True)
class GameKind:
    """One game.

    ``made``: Its environment. ``options``: Its rules' options, a frozen dataclass with a default for each. ``make``:
    The environment of options and, where it is fixed, a deal. ``roster``: Who can play it.
    """

    made: type[Deduction]
    options: type[Any]
    make: Callable[[Any, Deal | None], Deduction]
    roster: AgentRegistry

    @property
    def kind(self) -> str:
        """What it is called."""
        return self.made.kind

    def options_of(self, given: Iterable[str], called: Called = str) -> Any:
        """The options that ``NAME=VALUE`` texts choose; raises as `options_given`."""
        return options_given(self.options, given, called)

    def about(self, options: Any, deal: Deal | None = None) -> dict[str, Any]:
        """What a log says of a game, besides its seed and who plays it."""
        rules = TypeAdapter(self.options).dump_python(options, mode="json")
        return {"rules": rules, **({"deal": list(deal)} if deal else {})}

    def of_log(self, about: Mapping[str, Any]) -> Environment:
        """The game that a log's opening says.

        Raises InputError: Options or a deal that cannot be. Raises KeyError, TypeError, ValueError: It says none.
        """
        return self.make(
            _checked(self.options, about["rules"], "rules"), tuple(about["deal"]) if "deal" in about else None
        )

    @property
    def simulator(self) -> GameSimulator:
        """Its sessions, played on; the rules score."""
        return GameSimulator(self.kind, self.of_log, self.roster)


def options_given(options: type[Any], given: Iterable[str], called: Called = str) -> Any:
    """The ``options`` that ``NAME=VALUE`` texts choose, a class with a default for each; commas between several values.

    Raises InputError: no such option, one twice, or a value that it cannot have.
    """
    defaults = {name: one.default for name, one in signature(options).parameters.items()}
    names = list(defaults)
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(f"{called('rules')} {text!r}: write NAME=VALUE; there are {', '.join(names)}")
        if name not in names:
            hint = did_you_mean(name, names, f"there are {', '.join(names)}")
            raise InputError(f"{called('rules')} {name!r}: {hint}")
        if name in values:
            raise InputError(f"{called('rules')} {name}: given twice; give it once")
        # One alone is a list, too, where several can be given.
        several = isinstance(defaults[name], tuple) or "," in value
        values[name] = [one.strip() for one in value.split(",")] if several else value.strip()
    return _checked(options, values, called("rules"))


def _checked(options: type[Any], values: Mapping[str, Any], called: str) -> Any:
    try:
        return TypeAdapter(options).validate_python(dict(values))
    except ValidationError as error:
        raise InputError(f"{called}: {'; '.join(problems(error))}") from None


GAMES = Registry(
    what="game",
    group="apportion.deduction_games",
    must_be="an apportion.environments.deduction.games.GameKind",
    fits=lambda thing: isinstance(thing, GameKind),
    ours={world.name: world.game for world in WORLDS if world.game is not None},
)
"""Every game by its kind; a package's are found by name, too."""


def game_called(name: str) -> GameKind:
    """The game of a name; raises InputError where there is none."""
    found: GameKind = GAMES.find(name)
    return found
