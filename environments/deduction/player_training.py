"""Which method is trained how, in which game: what `apportion train player` asks for by two names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apportion.environments.deduction.act_search import ActSearch, self_play
from apportion.environments.deduction.chooser import MINDS, mind_of, train
from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.latent_strategies import minimise_regret
from apportion.environments.deduction.learned_table import LearnedTable
from apportion.foundation.errors import InputError

GAMES: Mapping[str, int] = {"strategist": 600, "sla": 1500, "rl-ins": 1500, "lspo": 300}
"""By method, how many games it is trained on unless one says: some minutes on one core."""
ROUNDS, SIMULATIONS = 4, 16
"""Of Strategist's self-play: rounds that share the games, and simulations an act."""
RIVALS = ("claims", "bayes")
MEASURES: Mapping[str, str] = {
    "strategist": "Brier's score of the value in its own games",
    "lspo": "average regret, over all situations",
    "sla": "mean return of the last games",
    "rl-ins": "mean return of the last games",
}
PLAYED = (("strategist", "avalon"), ("strategist", "werewolf"), *MINDS)
"""What there is: method and game."""


def trained(
    method: str, kind: str, options: Any, games: int | None, seed: int, told: Callable[[int, float], None]
) -> LearnedTable:
    """What one method learns in one game.

    ``options``: The game's rules. ``games``: How many it plays; None: `GAMES`. ``seed``: Of everything that is drawn.
    ``told``: Games (of Strategist rounds) so far, and what `MEASURES` says. Raises InputError: this is not trained.
    """
    if (method, kind) not in PLAYED:
        known = ", ".join(f"{one} {game}" for one, game in PLAYED)
        raise InputError(f"no player is trained by {method!r} in {kind!r}; there are {known}")
    game, count = game_called(kind), games or GAMES[method]
    begun = [game.make(options, None) for _ in range(max(count // ROUNDS, 1) if method == "strategist" else count)]
    for number, one in enumerate(begun):
        one.reset(f"train/{seed}/{number}")
    if method == "strategist":
        player = game.roster.scripted(f"strategist@{SIMULATIONS}")
        assert isinstance(player, ActSearch)
        table = self_play(player, begun, ROUNDS, told)
    elif method == "lspo":
        table = minimise_regret(mind_of(method, kind), begun, game.roster.scripted(RIVALS[0]), seed, told)
    else:
        rivals = [game.roster.scripted(name) for name in RIVALS]
        table = train(method, mind_of(method, kind), begun, rivals, told)
    about = {"games": count, "seed": seed, "simulations": SIMULATIONS if method == "strategist" else None}
    return LearnedTable(table.method, kind, table.roles, table.rows, about)
