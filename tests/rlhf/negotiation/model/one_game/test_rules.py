"""The rules of one game beside the batched engine's, act by act, in games of acts that are drawn."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.negotiation.action_encoding import ACTS, SPLITS
from apportion.environments.negotiation.vectorized.engine import Pools, VectorizedGames
from apportion.rlhf.negotiation.datasets import drawn_contexts
from apportion.rlhf.negotiation.model.loops.compiled import compiled
from apportion.rlhf.negotiation.model.one_game import rules
from apportion.rlhf.negotiation.self_play import settled_split

CONTEXTS = drawn_contexts(20, "rules")


@compiled
def legal_now(table: rules.Table, speaker: int) -> np.ndarray:
    fits, out = np.empty(SPLITS, dtype=np.bool_), np.empty(ACTS, dtype=np.bool_)
    rules.fitting(table.counts[0], fits)
    rules.legal_acts(table, 0, speaker, fits, out)
    return out


@compiled
def done(table: rules.Table, speaker: int, act: int) -> None:
    rules.do(table, 0, speaker, act)


@compiled
def settled(table: rules.Table, seat: int) -> int:
    return rules.settled_split(table, 0, seat)


@given(context=st.integers(0, 19), starter=st.integers(0, 1), seed=st.integers(0, 9999), words=st.floats(0, 1))
def test_they_are_those_of_the_engine(context: int, starter: int, seed: int, words: float) -> None:
    rng = np.random.default_rng(seed)
    plain, ours = (VectorizedGames(Pools.of([CONTEXTS[context]]), np.array([starter])) for _ in range(2))
    table = rules.Table.of(ours)
    while not plain.over[0]:
        speaker = int(plain.speakers[0])
        legal = plain.legal()[0]
        assert (legal_now(table, speaker) == legal).all()
        some = np.flatnonzero(legal)
        if rng.random() < words and len(some) > 1:
            some = some[-3:]
        act = int(rng.choice(some))
        plain.do(np.array([act]))
        done(table, speaker, act)
        for name in ("acts", "lengths", "over", "standing", "proposer", "settled"):
            assert (getattr(ours, name) == getattr(plain, name)).all(), name
    for seat in (0, 1):
        assert settled(table, seat) == settled_split(plain, seat)[0]
