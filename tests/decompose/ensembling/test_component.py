"""One opinion on the target turns: what it knows, and how a table of rewards becomes one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.ensembling.component import Component, standardised, trust_in, turn_opinions
from tests.evaluation.made_up import episode, rewards

EPISODES = [episode(name, 3, 50.0) for name in ("s0", "s1", "s2")]
SAID = {"s0": [1.0, None, 4.0], "s1": [None, None, None]}
TABLE = rewards(EPISODES, {name: [0.0] * 3 for name in SAID}, raw=SAID)


def test_a_table_s_raw_rewards_by_target_turn() -> None:
    found = turn_opinions(TABLE, EPISODES)
    assert set(found) == {EPISODES[0].key, EPISODES[1].key}
    assert found[EPISODES[0].key].tolist()[::2] == [1.0, 4.0] and math.isnan(found[EPISODES[0].key][1])
    assert np.isnan(found[EPISODES[1].key]).all()
    source = Component("llm", turn_opinions(TABLE, EPISODES))
    assert [source.knows(of.key) for of in EPISODES] == [True, False, False]


@pytest.mark.parametrize(("null", "counts_as"), [("mean", 2.5), ("zero", 0.0)])
def test_a_null_counts_as_the_method_says(null, counts_as) -> None:
    found = turn_opinions(TABLE, EPISODES, null)
    assert found[EPISODES[0].key].tolist() == [1.0, counts_as, 4.0]
    silent = found[EPISODES[1].key]
    assert np.isnan(silent).all() if null == "mean" else silent.tolist() == [0.0, 0.0, 0.0]


@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(math.nan)), max_size=30))
def test_standardised_values_have_mean_zero_and_spread_one_or_are_zero(values: list[float]) -> None:
    found = standardised(np.array(values, dtype=np.float64))
    known = found[np.isfinite(values)] if values else found
    assert np.isfinite(found).all()
    assert (found == 0).all() or (abs(known.mean()) < 1e-6 and known.std() == pytest.approx(1.0))


def test_a_hundred_dialogues_are_trusted_half_as_far_as_what_judges_itself() -> None:
    assert [trust_in(count) for count in (0, 100, 300)] == [0.0, 0.5, 0.75]
