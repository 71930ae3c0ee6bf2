import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.schema import EPISODE_KEY, REWARDS
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.method import Attribution, Projected, ScoreUnits, SessionMethod
from apportion.decompose.methods import find_method
from apportion.decompose.projection import project
from apportion.foundation.errors import InputError, UnitError
from tests.decompose.sessions import judgements, of_length, splits

IN_UNITS = {
    (reward_units, null): SessionMethod("x", "X", "x:x", scale=(ScoreUnits if reward_units else Projected)(null=null))
    for reward_units in (True, False)
    for null in ("zero", "mean")
}
SHARE, FRACTION = (
    SessionMethod("x", "X", "x:x", scale=Attribution(rule, 3.0, null="zero")) for rule in ("share", "fraction")
)
JUDGED = IN_UNITS[False, "mean"]
A, B, C = of_length("a", 4.0, 2), of_length("b", 2.0, 4), of_length("c", 5.0, 3)
SPLITS = splits(a="train", b="train", c="test")
ALL, BOTH = SplitEpisodes([A, B, C], SPLITS), SplitEpisodes([A, B], SPLITS)
VALUES = {A: [1.0, 3.0], B: [0.0, 0.0, 2.0, 2.0], C: [1.0, 2.0, 3.0]}


def rewards_of(table, episode):
    return [row["reward"] for row in table.to_pylist() if row["session_id"] == episode.session_id]


@given(st.data())
def test_sums_are_exact_for_any_judgements_and_what_soft_ones_lack_is_told(data):
    lengths = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=5))
    attributes = data.draw(st.booleans())
    number = st.none() | (st.integers(0, 3).map(float) if attributes else st.floats(-1e6, 1e6))
    episodes = [of_length(f"s{i}", data.draw(st.floats(-1000, 1000)), length) for i, length in enumerate(lengths)]
    values = {e: data.draw(st.lists(number, min_size=n, max_size=n)) for e, n in zip(episodes, lengths, strict=True)}
    method = data.draw(st.sampled_from((SHARE, FRACTION) if attributes else tuple(IN_UNITS.values())))
    target, constraint = data.draw(st.sampled_from([(t, c) for t in ("relative", "score") for c in ("exact", "soft")]))
    given_ = judgements(values)
    shuffled = given_.take(data.draw(st.permutations(range(given_.num_rows))))
    trained = splits(**{e.session_id: "train" if i % 2 == 0 else "test" for i, e in enumerate(episodes)})

    table, projection = project(shuffled, SplitEpisodes(episodes, trained), target, method, constraint)

    # What a method could say nothing of at all has no rewards.
    silent = {e.session_id for e in episodes if method.scale.null == "mean" and set(values[e]) == {None}}
    assert {key[0] for key in projection.unjudged} == silent
    keys = [(row["session_id"], row["turn"], row["raw_reward"]) for row in table.to_pylist()]
    judged = [row for row in given_.to_pylist() if row["session_id"] not in silent]
    assert keys == [(row["session_id"], row["turn"], row["raw_reward"]) for row in judged]
    for episode, missing in zip((e for e in episodes if e.session_id not in silent), projection.residuals, strict=True):
        rewards, total = rewards_of(table, episode), episode.score - projection.score_offset
        if constraint == "soft":
            assert attributes or all(v in (None, r) for r, v in zip(rewards, values[episode], strict=True))
            total -= missing.residual
        assert abs(math.fsum(rewards) - total) < 1e-6
    json.dumps(projection.to_json(), allow_nan=False)


def test_the_formula_is_the_design_s():
    table, projection = project(judgements(VALUES), ALL, "relative", JUDGED)
    assert projection.score_offset == 3.0
    # Between: sd of (4-3)/2 and (2-3)/4; within: six deviations of 1, so s = 0.375.
    assert projection.spread == pytest.approx(0.375)
    assert rewards_of(table, A) == pytest.approx([0.5 - 0.375, 0.5 + 0.375])
    assert rewards_of(table, B) == pytest.approx([-0.25 - 0.375, -0.25 - 0.375, -0.25 + 0.375, -0.25 + 0.375])
    assert rewards_of(table, C) == pytest.approx([2 / 3 - 0.375, 2 / 3, 2 / 3 + 0.375])
    assert table.schema == REWARDS.arrow


def test_the_constants_come_from_the_training_split_alone():
    _, projection = project(judgements(VALUES), ALL, "relative", JUDGED)
    other = of_length("c", 1.0, 3)
    _, changed = project(
        judgements({A: VALUES[A], B: VALUES[B], other: [9.0, -9.0, 5.0]}),
        SplitEpisodes([A, B, other], SPLITS),
        "relative",
        JUDGED,
    )
    assert (projection.score_offset, projection.spread) == (changed.score_offset, changed.spread)


def test_the_paper_s_variant_keeps_the_numbers_and_spreads_what_is_missing():
    method = IN_UNITS[True, "zero"]
    table, projection = project(judgements({A: [3.0, None], B: [1.0, 1.0, 0.0, 0.0]}), BOTH, "score", method)
    assert (projection.score_offset, projection.spread) == (0.0, 1.0)
    assert [residual.residual for residual in projection.residuals] == [1.0, 0.0]
    assert rewards_of(table, A) == [3.5, 0.5]
    assert rewards_of(table, B) == [1.0, 1.0, 0.0, 0.0]


def test_a_turn_without_a_value_counts_as_the_method_says():
    table = judgements({A: [3.0, None], B: [1.0, 2.0, 3.0, None]})
    for null, expected in (("zero", 3.0), ("mean", 0.0)):
        rewards, _ = project(table, BOTH, "relative", IN_UNITS[True, null])
        first, second = rewards_of(rewards, A)
        assert first - second == pytest.approx(expected)
        assert rewards["raw_reward"].null_count == 2


def test_an_episode_without_any_value_gets_no_rewards_and_is_told():
    given_ = judgements({A: [None, None], B: VALUES[B]})
    table, projection = project(given_, BOTH, "relative", JUDGED)
    assert table.column("session_id").to_pylist() == ["b"] * 4
    assert projection.unjudged == (A.key,)
    assert projection.to_json()["unjudged"] == [dict(zip(EPISODE_KEY, A.key, strict=True))]
    assert [missing.session_id for missing in projection.residuals] == ["b"]
    # Its score counts for the mean all the same, and its turns decide nothing of the spread.
    _, alone = project(judgements({B: VALUES[B]}), BOTH, "relative", JUDGED)
    assert (projection.score_offset, projection.spread) == (alone.score_offset, alone.spread)
    assert "unjudged" not in alone.to_json()


@pytest.mark.parametrize("values", [*({A: [v] * 2, B: [v] * 4} for v in (0.0, 0.1, 1e5)), {C: VALUES[C]}])
def test_training_judgements_that_never_vary_or_are_none_give_equal_shares(values):
    table, projection = project(judgements(values), ALL, "relative", JUDGED)
    assert projection.spread == 0.0
    for episode in values:
        assert len(set(rewards_of(table, episode))) == 1


def test_held_out_judgements_far_beyond_the_training_s_still_sum_to_the_score():
    values = {A: [0.0, 1e-8], B: [0.0] * 4, C: [-1.0, 1.0, 0.0]}
    table, projection = project(judgements(values), ALL, "relative", JUDGED)
    between = np.std([1 / 2, -1 / 4])
    assert projection.spread == pytest.approx(1e4 * between)
    assert rewards_of(table, C) == pytest.approx([2 / 3 - 1e4 * between, 2 / 3 + 1e4 * between, 2 / 3])
    assert math.fsum(rewards_of(table, C)) == pytest.approx(2.0, abs=1e-9)


def test_the_spread_over_samples_is_in_units_of_reward_and_no_judgements_give_an_empty_table():
    table, projection = project(judgements(VALUES, sd=2.0), ALL, "relative", JUDGED)
    assert table["sd"].to_pylist() == [2.0 * projection.spread] * 9
    table, projection = project(REWARDS.arrow.empty_table(), BOTH, "relative", JUDGED)
    assert (table.num_rows, projection.residuals) == (0, ())


REFUSED = [
    (VALUES, splits(a="test", b="test"), JUDGED, InputError, "no training episode"),
    ({A: [0.0, math.nan], B: VALUES[B]}, SPLITS, JUDGED, UnitError, "session a, turn 2: judgement"),
    ({A: [0.0, math.inf], B: VALUES[B]}, SPLITS, JUDGED, UnitError, "session a, turn 2: judgement"),
    ({A: [0.0, 2e6], B: VALUES[B]}, SPLITS, JUDGED, UnitError, "session a, turn 2: judgement"),
    ({of_length("d", 5.0, 3): [1.0, 2.0, 3.0]}, SPLITS, JUDGED, UnitError, "an episode that the corpus does not have"),
    ({A: [1.0, -1.0]}, SPLITS, SHARE, UnitError, "session a: attribution -1; attributions are 0 or more"),
]


@pytest.mark.parametrize(("values", "trained", "method", "kind", "words"), REFUSED)
def test_what_cannot_be_summed_is_refused(values, trained, method, kind, words):
    with pytest.raises(kind, match=words):
        project(judgements(values), SplitEpisodes([A, B, C], trained), "score", method)


@pytest.mark.parametrize(
    ("table", "kind", "words"),
    [
        (pa.concat_tables([judgements(VALUES), judgements(VALUES, "b")]), ValueError, "one method at a time"),
        (pa.concat_tables([judgements(VALUES)] * 2), UnitError, "a turn of an episode twice"),
        (judgements(VALUES).slice(0, 1), UnitError, r"session a: .* utterances of SYSTEM differ at turns \[2\]"),
    ],
)
def test_rows_that_are_not_those_of_the_episodes_are_refused(table, kind, words):
    with pytest.raises(kind, match=words):
        project(table, ALL, "relative", JUDGED)


def test_attributions_share_out_the_score_and_keep_its_sum_and_spread():
    table, projection = project(judgements({A: [1.0, 3.0], B: [0.0] * 4}), BOTH, "score", SHARE)
    assert rewards_of(table, A) == pytest.approx([1.0, 3.0])  # a / sum(a) * 4
    assert rewards_of(table, B) == pytest.approx([0.5] * 4)  # nothing contributed: all the same
    assert (projection.rule, projection.spread) == ("share", None)
    assert [r.residual for r in projection.residuals] == pytest.approx([0.0, 2.0])
    table, _ = project(judgements({A: [1.0, 3.0], B: [1.0] * 4}, sd=0.5), BOTH, "relative", SHARE)
    assert table["sd"].to_pylist() == pytest.approx([0.5 * 3 / 4] * 2 + [0.5 * 1 / 4] * 4)


@pytest.mark.parametrize("method", [SHARE, FRACTION])
def test_a_larger_attribution_is_never_worse_whatever_the_score(method):
    at_mean = of_length("d", 3.0, 2)
    values = {A: [1.0, 3.0], B: [0.0, 0.0, 1.0, 3.0], at_mean: [1.0, 3.0]}
    table, projection = project(judgements(values), SplitEpisodes([A, B, at_mean], SPLITS), "relative", method)
    assert projection.score_offset == 1.0  # The lower end of the scale.
    for episode in (A, B, at_mean):
        *_, smaller, larger = rewards_of(table, episode)
        assert larger > smaller
        assert sum(rewards_of(table, episode)) == pytest.approx(episode.score - 1.0)
    if method is SHARE:
        assert rewards_of(table, B) == pytest.approx([0.0, 0.0, 0.25, 0.75])


def test_the_published_attribution_and_what_is_missing_from_its_sum():
    values = {A: [1.0, 3.0], B: [3.0, 0.0, 2.0, 1.0]}
    table, projection = project(judgements(values), BOTH, "score", FRACTION)
    assert projection.rule == "fraction"
    for episode, residual in zip((A, B), projection.residuals, strict=True):
        published = [a / 3 * episode.score for a in values[episode]]  # r = a/3 * G, Sotopia-RL
        assert residual.residual == pytest.approx(episode.score - sum(published))
        even = residual.residual / len(published)
        assert rewards_of(table, episode) == pytest.approx([r + even for r in published])


def test_the_soft_constraint_keeps_the_numbers_and_tells_what_is_missing():
    values = {A: [1.0, None], B: [0.0, 0.5, -1.0, 2.0]}
    for null, counts_as in (("mean", 1.0), ("zero", 0.0)):
        table, projection = project(judgements(values, sd=0.5), BOTH, "relative", IN_UNITS[False, null], "soft")
        assert (projection.rule, projection.spread, projection.score_offset) == ("soft", 1.0, 3.0)
        assert rewards_of(table, A) == [1.0, counts_as]
        assert rewards_of(table, B) == values[B]
        assert [r.residual for r in projection.residuals] == [1.0 - (1.0 + counts_as), -1.0 - 1.5]
        assert table["sd"].to_pylist() == [0.5] * 6


@given(st.data())
def test_a_signal_alone_is_the_reward_under_every_target_and_constraint(data):
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    episodes = [of_length(f"s{i}", data.draw(st.floats(-100, 100)), length) for i, length in enumerate(lengths)]
    values = {
        e: data.draw(st.lists(st.floats(-1, 1), min_size=n, max_size=n)) for e, n in zip(episodes, lengths, strict=True)
    }
    target, constraint = data.draw(st.sampled_from([(t, c) for t in ("relative", "score") for c in ("exact", "soft")]))
    trained = splits(**{e.session_id: "train" for e in episodes})
    found, projection = project(
        judgements(values), SplitEpisodes(episodes, trained), target, find_method("sentiment-raw"), constraint
    )
    assert found["reward"].to_pylist() == found["raw_reward"].to_pylist()
    # L_GE of its reward model is (R - sum r)^2, Eq. 6: no training mean is added.
    assert (projection.rule, projection.spread, projection.score_offset) == ("soft", 1.0, 0.0)
    for episode, missing in zip(episodes, projection.residuals, strict=True):
        assert missing.residual == pytest.approx(episode.score - math.fsum(values[episode]), abs=1e-9)


@pytest.mark.parametrize("target", ["relative", "score"])
def test_a_prompt_that_hands_out_the_score_is_held_to_the_score_whatever_rewards_sum_to(target):
    exact, short = [3.0, 1.0], [1.0, 0.5, 0.0, 0.0]
    given_ = judgements({A: exact, B: short})
    table, projection = project(given_, BOTH, target, IN_UNITS[True, "zero"])
    assert [residual.residual for residual in projection.residuals] == [0.0, 0.5]
    assert sum(rewards_of(table, A)) == A.score - projection.score_offset
    soft, kept = project(given_, BOTH, target, IN_UNITS[True, "zero"], "soft")
    assert rewards_of(soft, A) == exact
    assert kept.score_offset == 0.0  # A reward model of these numbers adds no mean to their sum.
    assert kept.residuals == projection.residuals


def test_soft_attributions_are_as_published_with_nothing_on_top():
    values = {A: [1.0, 3.0], B: [0.0] * 4}
    table, projection = project(judgements(values), BOTH, "score", FRACTION, "soft")
    assert projection.rule == "soft fraction"
    assert rewards_of(table, A) == pytest.approx([4 / 3, 4.0])  # a/3 * G, Sotopia-RL
    assert [r.residual for r in projection.residuals] == pytest.approx([4.0 - 16 / 3, 2.0])
    shared, projection = project(judgements(values), BOTH, "score", SHARE, "soft")
    assert (projection.rule, projection.spread) == ("soft share", None)
    assert rewards_of(shared, A) == pytest.approx([1.0, 3.0])
    assert rewards_of(shared, B) == [0.0] * 4


def test_where_nobody_gave_a_score_values_over_the_turns_are_the_rewards():
    bare = [replace(e, rating=replace(e.rating, score=0.0, low=0.0, high=0.0)) for e in (A, B)]
    values = {bare[0]: [1.0, 3.0], bare[1]: [0.0, None, 2.0, 4.0]}
    table, projection = project(judgements(values), SplitEpisodes(bare, SPLITS), "relative", JUDGED)
    assert rewards_of(table, bare[0]) == [0.5, 1.5]
    assert rewards_of(table, bare[1]) == [0.0, 0.5, 0.5, 1.0]  # what is not known counts as the mean of its dialogue
    assert (projection.rule, projection.spread, projection.score_offset) == ("foretold", None, 0.0)
    assert [residual.residual for residual in projection.residuals] == [0.0, 0.0]
    rated = project(judgements({A: [1.0, 3.0]}), SplitEpisodes([A, bare[1]], SPLITS), "relative", JUDGED)[1]
    assert rated.rule == "spread"
