"""One opinion on the target turns: what it knows, and how a table of rewards becomes one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from apportion.decompose.ensembling.component import Component, turn_opinions
from tests.evaluation.made_up import episode, rewards

EPISODES = [episode(name, 3, 50.0) for name in ("s0", "s1", "s2")]
SAID = {"s0": [1.0, None, 4.0], "s1": [None, None, None]}
TABLE = rewards(EPISODES, {name: [0.0] * 3 for name in SAID}, raw=SAID)


def test_a_table_s_raw_rewards_by_target_turn() -> None:
    found = turn_opinions(TABLE, EPISODES)
    assert set(found) == {EPISODES[0].key, EPISODES[1].key}
    assert found[EPISODES[0].key].tolist()[::2] == [1.0, 4.0] and math.isnan(found[EPISODES[0].key][1])
    assert np.isnan(found[EPISODES[1].key]).all()


@pytest.mark.parametrize(("null", "counts_as"), [("mean", 2.5), ("zero", 0.0)])
def test_a_null_counts_as_the_method_says(null, counts_as) -> None:
    found = turn_opinions(TABLE, EPISODES, null)
    assert found[EPISODES[0].key].tolist() == [1.0, counts_as, 4.0]
    silent = found[EPISODES[1].key]
    assert np.isnan(silent).all() if null == "mean" else silent.tolist() == [0.0, 0.0, 0.0]


def test_a_source_knows_the_episodes_of_which_it_has_a_value() -> None:
    source = Component("llm", turn_opinions(TABLE, EPISODES))
    assert [source.knows(of.key) for of in EPISODES] == [True, False, False]
