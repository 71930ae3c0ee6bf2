"""Small settings, networks and games for tests of negotiators."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.vectorized import ParetoOptima, Pools, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import Dialogues
from apportion.rlhf.negotiation.datasets import drawn_contexts
from apportion.rlhf.negotiation.model.network import Weights, drawn_weights
from apportion.rlhf.negotiation.reinforce import Contexts
from apportion.rlhf.negotiation.rng import draws_of
from apportion.rlhf.negotiation.settings import NegotiatorSettings, NetworkSettings

SMALL = NetworkSettings(embedding=12, context=6, hidden=10, attention=6, selection=8, spread=0.5)
CONTEXT = Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))


def weights(seeds: Sequence[int] = (0,), double: bool = False) -> Weights:
    found = drawn_weights(SMALL, tuple(seeds))
    return {name: one.double() for name, one in found.items()} if double else found


def tables(contexts: Sequence[Context], seeds: Sequence[int]) -> VectorizedGames:
    starters = np.concatenate([draws_of(seed, "test").integers(0, 2, len(contexts)) for seed in seeds])
    return VectorizedGames(Pools.of(list(contexts) * len(seeds)), starters)


def contexts(count: int, purpose: str = "test") -> Contexts:
    drawn = drawn_contexts(count, purpose)
    return Contexts(Pools.of(drawn), ParetoOptima.of(drawn))


def dialogue(acts: Sequence[int], roles: Sequence[int], taken: Sequence[int] = (-1,) * 6) -> Dialogues:
    """One dialogue about `CONTEXT` in seat 0 [shape=(1, 1, ...)]."""
    own = np.array(CONTEXT.values[0])[None, None]
    return Dialogues(
        np.array([[acts]]), np.array([[roles]]), np.array(CONTEXT.counts)[None, None], own, np.array([[taken]])
    )


def settings(**changed: Any) -> NegotiatorSettings:
    """A training of seconds."""
    values: dict[str, Any] = {
        "seeds": (0, 1),
        "kept_every": 7,
        "data": {"scripted": 60},
        "network": SMALL.model_dump(),
        "supervised": {"epochs": 1},
        "reinforce": {"games": 30, "epochs": 2, "games_per_update": 5},
        "acquisition": {"asked": 6, "epochs": 1},
        "evaluation": {"contexts": 20},
    }
    for name, value in changed.items():
        values[name] = values.get(name, {}) | value if isinstance(value, dict) else value
    return NegotiatorSettings.model_validate(values)


def one_thread() -> None:
    torch.set_num_threads(1)
