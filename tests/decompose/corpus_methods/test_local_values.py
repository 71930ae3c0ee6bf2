from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.session import Episode
from apportion.decompose.corpus_methods.local_values import local_values, without_values
from apportion.decompose.methods import find_method
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from apportion.reward_model.history_windows import history_windows
from tests.decompose.sessions import features
from tests.reward_model.tiny import episode

SETTINGS = DecomposeSettings()
EPISODES = [
    episode("s2", [("bot", "hi"), ("user", "great!"), ("bot", "well"), ("user", "awful.")]),
    episode("s1", [("bot", "so"), ("user", "good."), ("bot", "bye")]),
    episode("s3", [("bot", "so"), ("user", "I hate it.")]),
]
SHARES = np.array([1.0, 3.0])


def smiles(**seen: list[float | None]) -> pa.Table:
    rated = [(name, 2 * number, value) for name, values in seen.items() for number, value in enumerate(values)]
    return features(*((name, turn, "user", "during", "smile", value) for name, turn, value in rated))


def values_of(name: str, features: pa.Table | None, episodes: list[Episode] = EPISODES) -> list[float]:
    windows = history_windows(episodes, 3)
    return local_values(find_method(name), windows, episodes, features, [0, 1], SHARES, SETTINGS).tolist()


def test_affect_gets_the_mean_and_spread_of_the_training_shares() -> None:
    # training turns 0.2, 0.6, 0.4 (and one unseen): mean 0.4, sd sqrt(0.08 / 3); shares: mean 2, sd 1
    found = values_of("affect", smiles(s1=[0.4, None], s2=[0.2, 0.6], s3=[1.0]))
    unit = np.sqrt(0.08 / 3)
    assert found == pytest.approx([2 - 0.2 / unit, 2 + 0.2 / unit, 2.0, np.nan, 2 + 0.6 / unit], nan_ok=True)
    assert np.isnan(values_of("affect", smiles(s1=[0.4, 0.5], s2=[0.2, 0.6]))[4])
    assert values_of("affect", smiles(s1=[0.4, 0.4], s2=[0.4, 0.4], s3=[0.4])) == pytest.approx([2.0] * 5)


def test_sentiment_needs_no_features_and_has_nothing_for_a_turn_without_a_reply() -> None:
    great, awful, good, unanswered, hate = values_of("sentiment", None)
    assert great > good > awful and np.isnan(unanswered) and hate < good


@pytest.mark.parametrize("features", [None, smiles(), smiles(s3=[1.0]), smiles(s1=[None])])
def test_no_local_value_in_training_is_told(features: pa.Table | None) -> None:
    with pytest.raises(UnitError, match=r"no training turn has a value of 'affect'.*no recording shows the rater's"):
        values_of("affect", features)


def test_no_training_reply_is_said() -> None:
    silent = [episode(f"s{i}", [("user", "hi"), ("bot", "bye")]) for i in range(3)]
    with pytest.raises(UnitError, match=r"no training turn has a value of 'sentiment'.*no rater replies"):
        values_of("sentiment", None, silent)


def test_the_sessions_without_any_local_value_are_known() -> None:
    affect, sentiment = find_method("affect"), find_method("sentiment")
    faces = smiles(s1=[0.4, None], s3=[None])
    assert {key[0] for key in without_values(affect, EPISODES, faces, SETTINGS)} == {"s2", "s3"}
    assert {key[0] for key in without_values(affect, EPISODES, None, SETTINGS)} == {"s1", "s2", "s3"}
    assert without_values(sentiment, EPISODES, None, SETTINGS) == frozenset()
