from collections.abc import Sequence

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pytest
from hypothesis import given, settings

from apportion.corpus.schema import FRAMES
from apportion.corpus.session import Episode, Rating, Turn
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, Missing
from apportion.evaluation.figures.dominant_emotion import EMOTIONS, most_often
from apportion.evaluation.figures.local_difference import happy_turns, local_difference
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.settings import EvaluationSettings
from apportion.features.registry import EMOTIONS as EMOTION_FEATURES
from apportion.foundation.errors import InputError
from tests.evaluation.made_up import features

MODE = EvaluationSettings(happiness_source="mode")
TURNS = tuple(Turn(i, "bot" if i % 2 == 0 else "user", "x", 2.0 * i, 2.0 * i + 2.0) for i in range(6))
HELD = TestSet.of([Episode("a", TURNS, Rating("user", "bot", "liking", 60.0, 0.0, 100.0))])


def frames(pictures: Sequence[tuple[float, dict[str, float]]], session: str = "a", person: str = "user") -> pa.Table:
    """A row for each picture's time and emotion; what is not named has what is left, in equal parts."""
    rows = []
    for time_s, given_ in pictures:
        rest = (1 - sum(given_.values())) / (len(EMOTIONS) - len(given_))
        shown = {name: given_.get(name, rest) for name in EMOTIONS}
        key = {"session_id": session, "person": person, "time_s": time_s}
        rows += [{**key, "feature": feature, "value": value} for feature, value in shown.items()]
    return pa.Table.from_pylist(rows, schema=FRAMES.arrow)


HAPPY, SAD, NEUTRAL = {"happiness": 0.4}, {"sadness": 0.9}, {"neutral": 0.6}
BY_HAND = frames(
    [
        *((0.25, HAPPY), (0.75, HAPPY), (1.25, SAD)),  # turn 0: happy twice, though sadness is more probable over it
        *((2.5, HAPPY), (3.5, HAPPY)),  # turn 1 is the rater's own
        *((4.5, NEUTRAL), (5.5, {"happiness": 0.5})),  # turn 2: as often; neutral is more probable over the turn
    ]
)


def test_the_emotions_are_those_that_features_measure():
    assert EMOTIONS == EMOTION_FEATURES


def test_a_turn_shows_what_most_of_its_pictures_show():
    found = most_often(BY_HAND, HELD, "happiness")
    np.testing.assert_array_equal(found, [1.0, 0.0, np.nan])
    np.testing.assert_array_equal(most_often(BY_HAND, HELD, "neutral"), [0.0, 1.0, np.nan])


def test_it_is_not_the_mean_over_the_turn():
    means = features([("a", 0, "user", "during", "happiness", 0.3), ("a", 2, "user", "during", "happiness", 0.3)])
    values = np.array([[5.0, 1.0, 9.0]])
    by_mode = happy_turns(means, HELD, MODE, BY_HAND)
    assert not isinstance(by_mode, Missing) and (by_mode.threshold, by_mode.why) == (None, "")
    assert by_mode.rule == "happiness most often the most probable emotion"
    difference = local_difference(HELD, values, by_mode, MODE)
    assert isinstance(difference, BootstrapResult) and difference.value == 4.0  # by hand: 5 - 1; turn 4 shows no face
    by_mean = happy_turns(means, HELD, EvaluationSettings())
    assert not isinstance(by_mean, Missing) and not by_mean.happy.any()


@pytest.mark.parametrize("which", [{"session": "b"}, {"person": "bot"}])
def test_others_faces_count_for_nothing(which):
    assert np.isnan(most_often(frames([(0.5, HAPPY)], **which), HELD, "happiness")).all()


def test_a_picture_by_a_network_without_contempt_counts():
    table = frames([(0.25, HAPPY), (1.0, SAD)])
    unknown = pa.compute.equal(table["feature"], "contempt")
    without = table.filter(pa.compute.invert(unknown))
    assert most_often(without.slice(0, 7), HELD, "happiness")[0] == most_often(table.slice(0, 8), HELD, "happiness")[0]
    assert most_often(without.slice(0, 7), HELD, "happiness")[0] == 1.0
    assert most_often(without.slice(7), HELD, "happiness")[0] == 0.0


def test_pictures_with_an_emotion_unknown_and_turns_without_times_count_for_nothing():
    whole = frames([(0.25, HAPPY), (1.0, SAD)])
    assert most_often(whole.slice(1), HELD, "happiness")[0] == 0.0
    untimed = TestSet.of([Episode("a", tuple(Turn(t.turn, t.speaker, t.text) for t in TURNS), HELD.episodes[0].rating)])
    assert np.isnan(most_often(whole, untimed, "happiness")).all()
    assert np.isnan(most_often(whole.slice(0, 0), HELD, "happiness")).all()


def test_without_an_emotion_model_smiles_stand_in_and_it_is_said():
    smile = [("a", turn, "user", "during", "smile", share) for turn, share in ((0, 1.0), (2, 0.0), (4, 0.0))]
    found = happy_turns(features(smile), HELD, MODE, frames([]))
    assert not isinstance(found, Missing)
    assert (found.feature, found.threshold, found.why) == ("smile", 0.5, "no emotion model measured happiness")


def test_without_frames_it_is_refused():
    means = features([("a", 0, "user", "during", "happiness", 0.9)])
    with pytest.raises(InputError, match=r"happiness_source = 'mode' reads every picture: give the table `frames`"):
        happy_turns(means, HELD, MODE)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 12, exclude_max=True), st.integers(0, 7)), unique_by=lambda p: round(p[0], 4)))
def test_it_agrees_with_pandas_mode(pictures):
    table = frames([(time, {EMOTIONS[top]: 0.5 + 0.01 * top}) for time, top in pictures])
    found = most_often(table.take(np.random.default_rng(0).permutation(len(table))), HELD, "happiness")
    for at, turn in enumerate(TURNS[::2]):
        assert turn.start_s is not None and turn.end_s is not None
        shown = pd.Series([EMOTIONS[top] for time, top in pictures if turn.start_s <= time < turn.end_s], dtype=object)
        modes = shown.mode().tolist()
        if not modes:
            assert np.isnan(found[at])
        elif len(modes) == 1:
            assert found[at] == (modes[0] == "happiness")
        else:
            assert not (found[at] and "happiness" not in modes)
