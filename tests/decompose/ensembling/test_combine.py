"""Values of several sources put together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from apportion.corpus.schema import HISTORY, REWARDS, SOURCES, SPLITS
from apportion.corpus.splits.episodes import SplitEpisodes
from apportion.decompose.ensembling.component import Component
from apportion.decompose.ensembling.stacking import mix, weigh
from apportion.decompose.reactions.model import FittedReactionModel
from apportion.foundation.errors import UnitError
from tests.decompose.ensembling.opinions import dialogues, opinion
from tests.evaluation.made_up import splits

EPISODES, WORTH = dialogues(120)
NAMES = [e.session_id for e in EPISODES]
ALL = SplitEpisodes(EPISODES, splits(train=NAMES[:100], test=NAMES[100:]))


def alike(name: str, values: list[float]) -> Component:
    return Component(name, {e.key: np.array(values + [math.nan] * (8 - len(values))) for e in EPISODES})


def turns(found: FittedReactionModel, session: str = "s0000") -> list[float | None]:
    return [row["raw_reward"] for row in found.judgements.to_pylist() if row["session_id"] == session]


def test_hand_computed_case() -> None:
    one, other = alike("a", [1.0, 1.0, 3.0, 3.0]), alike("b", [-2.0, 2.0, -2.0, 2.0])
    found = mix("m", ALL, [one, other], 7, given={"a": 0.75, "b": 0.25})
    assert turns(found) == pytest.approx([-1.0, -0.5, 0.5, 1.0] + [None] * 4)  # nobody knows the last four
    assert found.judgements.schema == REWARDS.arrow and found.history.schema == HISTORY.arrow
    assert set(found.judgements["method"].to_pylist()) == {"m"} and set(found.judgements["seed"].to_pylist()) == {7}


def test_a_turn_that_one_source_does_not_know_counts_as_its_mean() -> None:
    one, other = alike("a", [math.nan, -1.0, 1.0]), alike("b", [5.0, 5.0, 5.0])
    found = mix("m", ALL, [one, other], 0, given={"a": 1.0, "b": 1.0})
    assert turns(found)[:4] == pytest.approx([0.0, -0.5, 0.5, None])


def test_an_episode_that_a_source_lacks_is_made_of_the_others() -> None:
    good, other = opinion("good", EPISODES, WORTH, 0.5), opinion("other", EPISODES, WORTH, 0.5, seed=4)
    few = Component("few", {key: of for key, of in other.values.items() if key[0] != "s0001"})
    found = mix("m", ALL, [good, few], 0)
    spread = good.values[EPISODES[1].key]
    assert turns(found, "s0001") == pytest.approx(((spread - spread.mean()) / spread.std()).tolist())
    nobody = Component("few", {key: of for key, of in good.values.items() if key[0] != "s0001"})
    unknown = mix("m", ALL, [nobody], 0).judgements.to_pylist()
    assert {row["session_id"] for row in unknown if row["raw_reward"] is None} == {"s0001"}


def test_scores_of_training_sessions_alone_decide() -> None:
    good, noise = opinion("good", EPISODES, WORTH, 0.5), opinion("noise", EPISODES, WORTH, np.inf, seed=3)
    changed = {k: -of if k[0] in NAMES[100:] else of for k, of in good.values.items()}
    found, other = (mix("m", ALL, [source, noise], 0) for source in (good, Component("good", changed)))
    assert found.sources is not None and other.sources is not None
    assert found.sources.drop_columns(["low", "high"]).equals(other.sources.drop_columns(["low", "high"]))


def test_the_table_of_the_sources_tells_weight_interval_and_reason() -> None:
    good, noise = opinion("good", EPISODES, WORTH, 0.5), opinion("noise", EPISODES, WORTH, np.inf, seed=3)
    found = mix("m", ALL, [good, noise], 2)
    assert found.sources is not None and found.sources.schema == SOURCES.arrow
    one, other = found.sources.to_pylist()
    expected = weigh([good, noise], EPISODES[:100]).weights
    assert (one["method"], one["seed"], one["source"], one["sessions"]) == ("m", 2, "good", 100)
    assert [row["weight"] for row in (one, other)] == [of.weight for of in expected]
    assert one["explained_low"] > 0 > other["explained_low"]
    assert other["reason"] == "it foretells no left-out score: the interval holds zero"
    steps = {row["metric"]: row["value"] for row in found.history.to_pylist()}
    assert steps["weight of good"] == one["weight"] and steps["R^2 of noise"] == other["explained"]


@pytest.mark.parametrize(("sources", "named"), [([], "none"), ([Component("a", {}), Component("b", {})], "a, b")])
def test_without_any_source_that_knows_anything(sources: list[Component], named: str) -> None:
    with pytest.raises(UnitError, match=rf"method 'mix': no source \({named}\) knows any session"):
        mix("mix", ALL, sources, 0)


def test_a_mix_of_sources_that_are_not_believed_judges_nothing() -> None:
    learnt = Component("learnt", opinion("a", EPISODES, WORTH, np.inf).values, {e.key: 50.0 for e in EPISODES})
    found = mix("m", SplitEpisodes(EPISODES, splits(train=NAMES)), [learnt], 0)
    assert found.judgements.num_rows == 960 and found.judgements["raw_reward"].null_count == 960
    assert SPLITS.arrow.names == ["session_id", "split"]
