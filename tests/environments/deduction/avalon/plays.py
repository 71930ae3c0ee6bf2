"""Games to test with: at random, silences among the acts, or as far as some phase."""

from random import Random
from typing import Any

from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.avalon.rules import Options
from apportion.environments.deduction.events import SPEAK
from apportion.environments.environment import Action, Step

DEAL = ("merlin", "servant", "minion", "assassin", "servant")  # Figure 13's.
CASTS = (
    Options().roles,
    ("merlin", "percival", "servant", "morgana", "assassin"),
    ("merlin", "percival", "servant", "mordred", "assassin"),
    ("merlin", "servant", "servant", "oberon", "assassin"),
    ("merlin", "percival", "servant", "servant", "morgana", "oberon", "assassin"),
)
LARGEST = ("merlin", "percival", *["servant"] * 4, "morgana", "mordred", "oberon", "assassin")
EVIL = ("minion", "assassin", "morgana", "mordred", "oberon")


def held_evil(deal: tuple[str, ...], seat: int) -> set[int]:
    """Whom a player knows to be evil from the beginning, by the words of the tabletop game's rules."""
    hidden = {"merlin": "mordred", "oberon": "", **dict.fromkeys(EVIL[:4], "oberon")}.get(deal[seat])
    if hidden is None or deal[seat] == "oberon":
        return {seat} if deal[seat] == "oberon" else set()
    return {one for one, role in enumerate(deal) if role in EVIL and role != hidden}


def shown(deal: tuple[str, ...], seat: int) -> set[int] | None:
    """Whose seats a player is shown at night."""
    if deal[seat] == "percival":
        return {one for one, role in enumerate(deal) if role in ("merlin", "morgana")}
    return None if deal[seat] == "oberon" else held_evil(deal, seat) or None


def any_act(game: Avalon, name: str, draws: Random, silent: float = 0.1) -> Action:
    """Something that is allowed."""
    if draws.random() < silent:
        return Action("none")
    choices = game.choices(game.agents.index(name) + 1)
    kind = draws.choice(list(choices))
    aim = draws.choice(choices[kind]) if choices[kind] else None
    text = f"I, {name}, say {draws.random():.3f}." if kind == SPEAK else ""
    return Action(kind, text, list(aim) if isinstance(aim, tuple) else aim)


def any_step(game: Avalon, draws: Random) -> dict[str, Action]:
    """The same of everybody whose turn it is."""
    return {name: any_act(game, name, draws) for name in game.acting()}


def begun(deal: tuple[str, ...] | None = DEAL, seed: int | str = 0, **options: Any) -> Avalon:
    """A game at its beginning."""
    game = Avalon(Options(**options), deal)
    game.reset(seed)
    return game


def some_game(seed: int, most: int = 10_000, **options: Any) -> Avalon:
    """A drawn game, played at random for so many steps at most."""
    game, draws = begun(None, seed, **options), Random(seed)
    while game.acting() and len(game.steps) < most:
        game.step(any_step(game, draws))
    return game


def until(game: Avalon, phase: str, *, fails: bool = False) -> Avalon:
    """Play on, everybody for every team, until a phase has come."""
    while game._stage().phase != phase:
        step = {}
        for name in game.acting():
            choices = game.choices(game.agents.index(name) + 1)
            kind = next(iter(choices))
            if fails and "fail" in choices:
                kind = "fail"
            aims = choices[kind]
            step[name] = Action(
                kind, "Let us go." if kind == SPEAK else "", list(aims[-1]) if kind == "propose" else None
            )
        game.step(step)
    return game


def steps_of(game: Avalon) -> list[Step]:
    """A copy of what was done."""
    return list(game.steps)
