"""Marginal contributions that are no Shapley values: each player alone against all, or in the order of play."""

from __future__ import annotations

import numpy as np

from apportion.decompose.shapley.value_function import Value, ask
from apportion.decompose.shapley.values import ShapleyValues, check_players, result


def leave_one_out(value: Value, players: int, *, drawn_alike: bool = False) -> ShapleyValues:
    """v(all) less v(all but i): n + 1 coalitions. What two players have in common counts for neither, or for both.

    >>> leave_one_out(lambda said: float(bool(said)), 2).values.tolist()
    [0.0, 0.0]

    Raises InputError: Players below 0. UnitError: A coalition's value is not finite.
    """
    check_players(players)
    members = np.vstack([np.zeros((1, players)), 1 - np.eye(players), np.ones((1, players))]).astype(bool)
    linear = np.hstack([np.zeros((players, 1)), -np.eye(players), np.ones((players, 1))])
    return _linear(value, members, linear, "leave-one-out", drawn_alike)


def by_prefix(value: Value, players: int, *, drawn_alike: bool = False) -> ShapleyValues:
    """v of the first i players less v of the first i - 1 (SAVOIR's expected utility without its Shapley values).

    n + 1 coalitions; the values sum to v(all) - v(none).

    >>> by_prefix(lambda said: float(bool(said)), 2).values.tolist()
    [1.0, 0.0]

    Raises InputError: Players below 0. UnitError: A coalition's value is not finite.
    """
    check_players(players)
    members = np.tri(players + 1, players, -1, dtype=bool)
    linear = np.eye(players, players + 1, 1) - np.eye(players, players + 1)
    return _linear(value, members, linear, "prefix by prefix", drawn_alike)


def _linear(value: Value, members: np.ndarray, linear: np.ndarray, name: str, drawn_alike: bool) -> ShapleyValues:
    worth = ask(value, members, drawn_alike=drawn_alike)
    errors = np.sqrt(worth.variances_of(linear))
    return result(linear @ worth.means, errors, worth, name, len(members), 0)
