"""Games of Werewolf for tests: played by agents that now and then do nothing, and told again by another deal."""

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import NamedTuple

from apportion.environments.deduction.events import called
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import GUARD, KILL, PAPER, PROPOSE, SHOOT, VOTE, Options
from apportion.environments.deduction.werewolf.scripts import BayesianAgent, Claims
from apportion.environments.environment import Action, Observation, Step

SCRIPTS = (Claims(), BayesianAgent())


class Drawn:
    """Any allowed act, a script's act, or none, by its own draws: acts of one player tell nothing of another's role."""

    called, paid = "drawn", False

    def __init__(self, idle: float = 0.1) -> None:
        self.idle = idle

    def act(self, view: Observation) -> Action:
        draws = view.draws
        if draws.random() < self.idle:
            return Action("none")
        if draws.random() < 0.5:
            return draws.choice(SCRIPTS).act(view)
        ((kind, aims),) = view.facts.choices.items()
        return Action(kind, "I see." if kind == "speak" else "", draws.choice(aims) if aims else None)


def begun(seed: int, deal: tuple[str, ...] | None = None, roles: tuple[str, ...] = PAPER) -> Werewolf:
    game = Werewolf(Options(roles), deal)
    game.reset(seed)
    return game


def played(seed: int, steps: int = 1000, idle: float = 0.1, roles: tuple[str, ...] = PAPER) -> Werewolf:
    """A game after some steps, or at its end."""
    game, agent = begun(seed, None, roles), Drawn(idle)
    game = begun(seed, game.deal, roles)
    while not game.over and len(game.steps) < steps:
        game.step({name: agent.act(Observation(game, name)) for name in game.acting()})
    return game


def every_deal(deal: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All deals of the same roles, apart from the engine's; of many players those that exchange two seats or three."""
    if len(deal) < 8:
        yield from set(permutations(deal))
        return
    found = {deal}
    for _ in range(2):
        for one, (first, second) in [(one, pair) for one in found for pair in combinations(range(len(deal)), 2)]:
            if first == 0 or one == deal:
                found = found | {_exchanged(one, first, second)}
    yield from found


def _exchanged(deal: tuple[str, ...], first: int, second: int) -> tuple[str, ...]:
    seats = list(deal)
    seats[first], seats[second] = seats[second], seats[first]
    return tuple(seats)


def told_by(game: Werewolf, deal: tuple[str, ...], seat: int) -> Werewolf | None:
    """A game of another deal in which ``seat`` came to know what it knows here; None: there is none.

    What is public, and what the seat's own side does, is done again; secret acts of others are made up so that the same
    players die. ``game`` is in a day, or at an act of the seat.
    """
    other, name = begun(int(game.seed), deal, game.options.roles), called(seat)
    here, days, nights = known(game, seat), *_done(game)
    while known(other, seat) == here[: len(known(other, seat))]:
        if len(known(other, seat)) == len(here) and (name in other.acting()) == (name in game.acting()):
            return other
        if other.over:
            return None
        if other.table.phase in (VOTE, SHOOT):
            if not days:
                return None
            moves = dict(days.pop(0))
            if tuple(moves) != other.acting():
                return None
            other.step(moves)
        else:
            (who,) = other.acting()
            other.step({who: _secret(other, who, nights, seat)})
    return None


def known(game: Werewolf, seat: int) -> list[str]:
    """What a seat knows, in the words of the events alone."""
    role = f"{seat} {game.deal[seat - 1]}"
    return [role, *[f"{e.stage} {e.seat} {e.text}" for e in game.events if e.to is None or seat in e.to]]


class Night(NamedTuple):
    """Who did what in a night, who died (None: it goes on), and whom the werewolves chose."""

    acts: dict[tuple[str, str], Action]
    died: int | None
    target: int


def _done(game: Werewolf) -> tuple[list[Step], dict[int, Night]]:
    """The steps of all days, and the nights by their number."""
    again, days, nights = begun(int(game.seed), game.deal, game.options.roles), [], {1: Night({}, None, 0)}
    for moves in game.steps:
        number, phase = again.table.day, again.table.phase
        if phase in (VOTE, SHOOT):
            days.append(moves)
            again.advance(moves)
            nights.setdefault(again.table.day, Night({}, None, 0))
            continue
        nights[number].acts[moves[0].agent, phase] = moves[0].act
        again.advance(moves)
        if again.table.phase in (VOTE, SHOOT):
            (died,) = [e.data for e in again.events if e.kind == "killed" and e.stage.round == number]
            nights[number] = nights[number]._replace(died=died, target=again.table.target)
    return days, nights


def _secret(other: Werewolf, who: str, nights: dict[int, Night], seat: int) -> Action:
    """An act of the night in the game of the other deal: its own where the seat knows it, else one that fits."""
    phase, night = other.table.phase, nights.get(other.table.day, Night({}, None, 0))
    pack = seat in other.table.wolves
    if who == called(seat) or (pack and phase in (PROPOSE, KILL)):
        return night.acts.get((who, phase), Action("none"))
    if phase == KILL and night.died in other.table.aims(int(who.split()[1])):
        return Action(KILL, "", night.died)
    if phase == GUARD and pack and night.died == 0 and night.target:
        return Action(GUARD, "", night.target)
    return Action("none")
