import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.schema import EPISODE_KEY, REWARDS
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.method import Attribution, Projected, ScoreUnits, SessionMethod
from apportion.decompose.methods import find_method
from apportion.decompose.projection import project
from apportion.decompose.reply_parsing import parse_reply
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from tests.decompose.sessions import judgements, of_length, splits

IN_UNITS = {
    (reward_units, null): SessionMethod("x", "X", "x:x", scale=(ScoreUnits if reward_units else Projected)(null=null))
    for reward_units in (True, False)
    for null in ("zero", "mean")
}
JUDGED = IN_UNITS[False, "mean"]
A, B, C = of_length("a", 4.0, 2), of_length("b", 2.0, 4), of_length("c", 5.0, 3)
SPLITS = splits(a="train", b="train", c="test")
ALL, BOTH = SplitEpisodes([A, B, C], SPLITS), SplitEpisodes([A, B], SPLITS)
VALUES = {A: [1.0, 3.0], B: [0.0, 0.0, 2.0, 2.0], C: [1.0, 2.0, 3.0]}


def rewards_of(table, episode):
    return [row["reward"] for row in table.to_pylist() if row["session_id"] == episode.session_id]


@given(st.data())
def test_sums_are_exact_for_any_judgements(data):
    lengths = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=5))
    number = st.none() | st.floats(-1e6, 1e6)
    score = st.floats(-1000, 1000)
    episodes = [of_length(f"s{i}", data.draw(score), length) for i, length in enumerate(lengths)]
    values = {e: data.draw(st.lists(number, min_size=n, max_size=n)) for e, n in zip(episodes, lengths, strict=True)}
    method = IN_UNITS[data.draw(st.booleans()), data.draw(st.sampled_from(["zero", "mean"]))]
    target = data.draw(st.sampled_from(["relative", "score"]))
    given_ = judgements(values)
    shuffled = given_.take(data.draw(st.permutations(range(given_.num_rows))))
    trained = splits(**{e.session_id: "train" if i % 2 == 0 else "test" for i, e in enumerate(episodes)})

    table, projection = project(shuffled, SplitEpisodes(episodes, trained), target, method)

    # What a method could say nothing of at all has no rewards.
    silent = {e.session_id for e in episodes if method.scale.null == "mean" and set(values[e]) == {None}}
    assert {key[0] for key in projection.unjudged} == silent
    keys = [(row["session_id"], row["turn"], row["raw_reward"]) for row in table.to_pylist()]
    judged = [row for row in given_.to_pylist() if row["session_id"] not in silent]
    assert keys == [(row["session_id"], row["turn"], row["raw_reward"]) for row in judged]
    for episode in (e for e in episodes if e.session_id not in silent):
        assert abs(math.fsum(rewards_of(table, episode)) - (episode.score - projection.score_offset)) < 1e-6
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


def test_a_null_that_means_zero_is_a_judgement_even_where_there_is_nothing_else():
    table, projection = project(judgements({A: [None, None], B: VALUES[B]}), BOTH, "relative", IN_UNITS[False, "zero"])
    assert rewards_of(table, A) == [0.5, 0.5]
    assert projection.unjudged == ()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e5])
def test_judgements_that_never_vary_give_equal_shares(value):
    table, projection = project(judgements({A: [value] * 2, B: [value] * 4}), BOTH, "relative", JUDGED)
    assert projection.spread == 0.0
    assert rewards_of(table, A) == pytest.approx([0.5, 0.5])


def test_held_out_judgements_far_beyond_the_training_s_still_sum_to_the_score():
    values = {A: [0.0, 1e-8], B: [0.0] * 4, C: [-1.0, 1.0, 0.0]}
    table, projection = project(judgements(values), ALL, "relative", JUDGED)
    between = np.std([1 / 2, -1 / 4])
    assert projection.spread == pytest.approx(1e4 * between)
    assert rewards_of(table, C) == pytest.approx([2 / 3 - 1e4 * between, 2 / 3 + 1e4 * between, 2 / 3])
    assert math.fsum(rewards_of(table, C)) == pytest.approx(2.0, abs=1e-9)


def test_the_spread_over_samples_is_put_in_units_of_reward():
    table, projection = project(judgements(VALUES, sd=2.0), ALL, "relative", JUDGED)
    assert table["sd"].to_pylist() == [2.0 * projection.spread] * 9


def test_episodes_without_judgements_count_for_the_mean_only():
    table, projection = project(judgements({B: VALUES[B]}), ALL, "relative", JUDGED)
    assert projection.score_offset == 3.0
    assert table.num_rows == 4
    assert len(projection.residuals) == 1


def test_without_judged_training_episodes_shares_are_equal():
    table, projection = project(judgements({C: VALUES[C]}), ALL, "relative", JUDGED)
    assert projection.spread == 0.0
    assert rewards_of(table, C) == pytest.approx([2 / 3] * 3)


def test_no_judgements_at_all_give_an_empty_table():
    table, projection = project(REWARDS.arrow.empty_table(), BOTH, "relative", JUDGED)
    assert (table.num_rows, projection.residuals) == (0, ())


def test_without_training_sessions_there_is_no_mean():
    with pytest.raises(InputError, match="no training episode"):
        project(judgements(VALUES), SplitEpisodes([A, B, C], splits(a="test", b="test")), "relative", JUDGED)


def test_two_methods_at_once_are_refused():
    import pyarrow as pa

    both = pa.concat_tables([judgements({A: VALUES[A]}), judgements({B: VALUES[B]}, "other")])
    with pytest.raises(ValueError, match="one method at a time"):
        project(both, BOTH, "relative", JUDGED)


def test_a_turn_that_is_judged_twice_is_refused():
    import pyarrow as pa

    with pytest.raises(UnitError, match="a turn of an episode twice"):
        project(pa.concat_tables([judgements(VALUES)] * 2), ALL, "relative", JUDGED)


def test_missing_turns_and_strangers_are_named():
    with pytest.raises(UnitError, match=r"session a: judgements and utterances of SYSTEM differ at turns \[2\]"):
        project(judgements(VALUES).slice(0, 1), SplitEpisodes([A], SPLITS), "relative", JUDGED)
    with pytest.raises(UnitError, match=r"an episode that the corpus does not have: .*'c'"):
        project(judgements(VALUES), BOTH, "relative", JUDGED)


@pytest.mark.parametrize("value", [math.nan, math.inf, 2e6])
def test_values_that_cannot_be_summed_are_named(value):
    with pytest.raises(UnitError, match="session a, turn 2: judgement"):
        project(judgements({A: [0.0, value], B: VALUES[B]}), BOTH, "relative", JUDGED)


SHARE, FRACTION = (
    SessionMethod("x", "X", "x:x", scale=Attribution(rule, 3.0, null="zero")) for rule in ("share", "fraction")
)


def test_attributions_share_out_the_score_and_keep_its_sum():
    table, projection = project(judgements({A: [1.0, 3.0], B: [0.0] * 4}), BOTH, "score", SHARE)
    assert rewards_of(table, A) == pytest.approx([1.0, 3.0])  # a / sum(a) * 4
    assert rewards_of(table, B) == pytest.approx([0.5] * 4)  # nothing contributed: all the same
    assert (projection.rule, projection.spread) == ("share", None)
    assert [r.residual for r in projection.residuals] == pytest.approx([0.0, 2.0])


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


def test_the_worst_score_leaves_attributions_nothing_to_share_out():
    worst = of_length("d", 1.0, 2)
    table, _ = project(judgements({worst: [1.0, 3.0]}), SplitEpisodes([A, B, worst], SPLITS), "relative", SHARE)
    assert rewards_of(table, worst) == [0.0, 0.0]


def test_the_published_attribution_and_what_is_missing_from_its_sum():
    values = {A: [1.0, 3.0], B: [3.0, 0.0, 2.0, 1.0]}
    table, projection = project(judgements(values), BOTH, "score", FRACTION)
    assert projection.rule == "fraction"
    for episode, residual in zip((A, B), projection.residuals, strict=True):
        published = [a / 3 * episode.score for a in values[episode]]  # r = a/3 * G, Sotopia-RL
        assert residual.residual == pytest.approx(episode.score - sum(published))
        even = residual.residual / len(published)
        assert rewards_of(table, episode) == pytest.approx([r + even for r in published])


def test_an_attribution_s_spread_is_in_units_of_reward():
    table, _ = project(judgements({A: [1.0, 3.0], B: [1.0] * 4}, sd=0.5), BOTH, "relative", SHARE)
    assert table["sd"].to_pylist() == pytest.approx([0.5 * 3 / 4] * 2 + [0.5 * 1 / 4] * 4)


def test_an_attribution_below_zero_is_refused():
    with pytest.raises(UnitError, match="session a: attribution -1; attributions are 0 or more"):
        project(judgements({A: [1.0, -1.0]}), BOTH, "score", SHARE)


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
def test_soft_rewards_and_their_residual_sum_to_the_target_for_any_judgements(data):
    lengths = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    episodes = [of_length(f"s{i}", data.draw(st.floats(-1000, 1000)), length) for i, length in enumerate(lengths)]
    value = st.none() | st.floats(-1e6, 1e6)
    values = {e: data.draw(st.lists(value, min_size=n, max_size=n)) for e, n in zip(episodes, lengths, strict=True)}
    method = IN_UNITS[data.draw(st.booleans()), data.draw(st.sampled_from(["zero", "mean"]))]
    trained = splits(**{e.session_id: "train" for e in episodes})
    target = data.draw(st.sampled_from(["relative", "score"]))
    table, projection = project(judgements(values), SplitEpisodes(episodes, trained), target, method, "soft")
    judged = [e for e in episodes if e.key not in projection.unjudged]
    for episode, missing in zip(judged, projection.residuals, strict=True):
        given_ = [row for row in table.to_pylist() if row["session_id"] == episode.session_id]
        assert all(row["reward"] == row["raw_reward"] for row in given_ if row["raw_reward"] is not None)
        total = math.fsum(row["reward"] for row in given_) + missing.residual
        assert total == pytest.approx(episode.score - projection.score_offset, abs=1e-6)


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


REPLIED = st.one_of(
    st.none(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0, 0.0, -0.0, 1e6, -1e6, 5e-324, 3]),
)


@given(st.data())
def test_whatever_a_model_replies_the_rewards_sum_to_the_target_or_the_reply_is_refused(data):
    count = data.draw(st.integers(1, 12))
    episode, other = of_length("a", data.draw(st.floats(-1000, 1000)), count), of_length("b", 3.0, 2)
    given_ = data.draw(st.lists(REPLIED, min_size=count, max_size=count))
    order = data.draw(st.permutations(range(count)))
    entries = [{"turn": 2 * i, "value": given_[i], "evidence": None} for i in order]
    whole = data.draw(st.booleans())
    bounds = (0.0, 3.0, True) if whole else (None, None, False)
    try:
        answers = parse_reply(json.dumps({"turns": entries}), episode.target_turns, *bounds)
    except ReplyMistakeError:
        return
    assert [answer.turn for answer in answers] == list(episode.target_turns)
    units = [SHARE, FRACTION] if whole else [IN_UNITS[u, "zero"] for u in (True, False)]
    method, target = data.draw(st.sampled_from(units)), data.draw(st.sampled_from(["relative", "score"]))
    values = {episode: [answer.value for answer in answers], other: [1.0, 2.0]}

    table, projection = project(
        judgements(values), SplitEpisodes([episode, other], splits(a="train", b="train")), target, method
    )

    kept = [row for row in table.to_pylist() if row["session_id"] == "a"]
    assert [row["turn"] for row in kept] == list(episode.target_turns)
    assert [row["raw_reward"] for row in kept] == values[episode]
    assert abs(math.fsum(row["reward"] for row in kept) - (episode.score - projection.score_offset)) < 1e-6
    json.dumps(projection.to_json(), allow_nan=False)


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
