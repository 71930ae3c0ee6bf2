import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.evaluation.error_slices.turns import TargetTurns, TurnId


def turns_of(sessions: list[str]) -> TargetTurns:
    ids = [TurnId((name, "user", "system", "liking"), at) for at, name in enumerate(sessions)]
    n = len(ids)
    return TargetTurns(ids, ["x"] * n, np.arange(n, dtype=float), np.zeros((n, 3), np.float32), {}, np.full(n, np.nan))


@given(st.sets(st.text(max_size=5), min_size=2, max_size=30), st.integers(0, 9))
def test_halves_share_no_session_and_are_of_one_size(names, seed):
    sessions = [name for name in sorted(names) for _ in range(3)]
    half = turns_of(sessions).first_half(seed)
    first = {name for name, mine in zip(sessions, half, strict=True) if mine}
    second = {name for name, mine in zip(sessions, half, strict=True) if not mine}
    assert not first & second
    assert len(first) - len(second) in (0, 1)


def test_a_part_of_the_turns_keeps_what_belongs_together():
    turns = turns_of(["a", "a", "b"])
    part = turns.only(np.array([False, True, True]))
    assert [one.turn for one in part.ids] == [1, 2]
    assert part.rewards.tolist() == [1.0, 2.0] and part.sessions.tolist() == [0, 1]


def test_different_lengths_are_refused():
    turns = turns_of(["a", "b"])
    with pytest.raises(ValueError, match=r"different lengths: \[1, 2\]"):
        TargetTurns(turns.ids, ["x"], turns.rewards, turns.embeddings, {}, turns.scores)
