from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.shapley.values import by_prefix, without_each
from apportion.foundation.errors import InputError, UnitError
from tests.decompose.shapley.test_values import pairwise


@given(st.integers(0, 9), st.integers(0, 10**6))
def test_they_are_what_they_say(players: int, seed: int) -> None:
    game = pairwise(players, seed)
    everybody = frozenset(range(players))
    alone, prefix = without_each(game, players), by_prefix(game, players)
    for i in range(players):
        assert alone.values[i] == pytest.approx(game(everybody) - game(everybody - {i}), abs=1e-9)
        gain = game(frozenset(range(i + 1))) - game(frozenset(range(i)))
        assert prefix.values[i] == pytest.approx(gain, abs=1e-9)
    assert prefix.values.sum() == pytest.approx(prefix.whole - prefix.empty, abs=1e-9)
    assert (prefix.empty, prefix.whole) == (alone.empty, alone.whole) == (game(frozenset()), game(everybody))
    assert prefix.calls == players + 1 and not prefix.standard_errors.any()


def test_noise_that_all_histories_share_is_no_noise_of_a_difference() -> None:
    def value(coalition: frozenset[int]) -> list[float]:
        return [len(coalition) - 1.0, len(coalition) + 1.0]

    for credit in (without_each, by_prefix):
        np.testing.assert_allclose(credit(value, 3, drawn_alike=True).standard_errors, 0, atol=1e-12)
        np.testing.assert_allclose(credit(value, 3).standard_errors, np.sqrt(2))


def test_what_cannot_be_is_refused() -> None:
    for credit in (without_each, by_prefix):
        with pytest.raises(InputError, match="players = -1"):
            credit(lambda s: 0.0, -1)
        with pytest.raises(UnitError, match=r"coalition \[0, 1\]: its value is \[nan\]"):
            credit(lambda s: float("nan") if len(s) == 2 else 0.0, 2)
