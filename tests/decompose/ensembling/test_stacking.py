"""What sources weigh: the prior alone without scores, then what scores taught as far as they carry."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from apportion.corpus.schema import HISTORY, REWARDS, SOURCES
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.ensembling import stacking
from apportion.decompose.ensembling.component import Component, trust_in
from apportion.decompose.ensembling.stacking import mix, weigh
from apportion.decompose.reactions.extract import arrange
from apportion.decompose.reactions.model import FittedReactionModel, learn
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.errors import UnitError
from tests.decompose.ensembling.opinions import dialogues, learnt, opinion
from tests.decompose.reactions.test_model import reacted, table_of
from tests.evaluation.made_up import splits

EPISODES, WORTH = dialogues(300)
TAUGHT = opinion("taught", EPISODES, WORTH, 0.8, seed=2, trust=0.8)
WORDS = opinion("words", EPISODES, WORTH, 1.2, seed=3)
OWN = learnt(opinion("own", EPISODES, WORTH, 0.5), EPISODES)
NOISE = opinion("noise", EPISODES, WORTH, np.inf, seed=9)


def turned(source: Component) -> Component:
    return replace(source, values={key: -of for key, of in source.values.items()})


def settling(share: float, source: Component = OWN) -> Component:
    return learnt(source, EPISODES, share)


def weights(*sources: Component, **how: object) -> dict[str, float]:
    return {of.source: of.weight for of in weigh(sources, EPISODES, **how).weights}  # type: ignore[arg-type]


def whys(*sources: Component, **how: object) -> dict[str, str]:
    return {of.source: of.why for of in weigh(sources, EPISODES, **how).weights}  # type: ignore[arg-type]


def test_without_scores_the_prior_stands_alone_and_shares_by_what_taught_it() -> None:
    found = weights(TAUGHT, WORDS, settling(0.0))
    assert found == pytest.approx({"taught": 1.0, "words": 0.0, "own": 0.0}, abs=1e-6)
    assert weights(WORDS, NOISE)["words"] >= 0.5
    found = {of.source: of.weight for of in weigh([WORDS, NOISE, settling(0.0)], [], episodes=EPISODES).weights}
    assert found == pytest.approx({"words": 0.5, "noise": 0.5, "own": 0.0})
    judge = opinion("judge", EPISODES, WORTH, 0.3, seed=4, trust=1.0)
    found = weights(judge, replace(TAUGHT, trust=trust_in(100)))
    assert found == pytest.approx({"judge": 2 / 3, "taught": 1 / 3})


def test_what_scores_taught_weighs_what_they_settle_up_to_its_agreement_with_the_prior() -> None:
    found = [weights(TAUGHT, settling(share))["own"] for share in (0.05, 0.2, 0.3)]
    assert found == pytest.approx([0.05, 0.2, 0.3])
    most = weigh([TAUGHT, settling(0.66)], EPISODES)
    assert most.weights[0].source == "taught" and most.weights[1].weight == pytest.approx(most.agreed[0, 1] ** 2)
    assert weights(settling(0.01)) == {"own": pytest.approx(1.0)}  # it is all there is


def test_weights_do_not_jump() -> None:
    shares = np.linspace(0.0, 0.6, 16)
    found = np.array([list(weights(TAUGHT, WORDS, settling(share)).values()) for share in shares])
    assert np.abs(np.diff(found, axis=0)).max() < 0.05


@pytest.mark.parametrize("seed", [0, 3, 11])
def test_one_session_more_moves_weights_little(seed: int) -> None:
    episodes, felt = reacted(60, seed=seed)
    reactions = arrange(table_of(episodes, felt), episodes)
    ids = [episode.session_id for episode in episodes]
    told = Component("told", reactions.by_episode(np.array(felt) + np.random.default_rng(0).normal(size=len(felt))))
    found = []
    for count in (*range(1, 13), 60):
        model = learn(reactions, frozenset(ids[:count]), ReactionSettings())
        own = Component("own", reactions.by_episode(model.worth.values(reactions)), model)
        found.append(weigh([told, own], episodes[:count], episodes=episodes).of([True, True])[1])
    assert found[0] == 0 and found[-1] > 0.2 and np.abs(np.diff(found[:-1])).max() < 0.2


def test_what_goes_against_all_that_is_known_of_reactions_is_held_back_and_told() -> None:
    found = weigh([TAUGHT, WORDS, turned(OWN)], EPISODES).weights
    assert found[2].weight == 0.0 and "too little, so that it is held back" in found[2].why
    # What was taught elsewhere then holds less here, and counts more like what nobody taught.
    assert found[1].weight > weights(TAUGHT, WORDS, OWN)["words"] + 0.2
    assert "held back" not in whys(TAUGHT, WORDS, OWN)["own"] and "50%" in whys(TAUGHT, WORDS, OWN)["own"]
    found = weigh([TAUGHT, learnt(NOISE, EPISODES, 0.3)], EPISODES).weights
    assert found[1].weight < 0.02 and "held back" in found[1].why


def test_a_source_of_the_prior_that_goes_against_the_scores_is_held_back_and_told() -> None:
    for reversed_one in (turned(TAUGHT), turned(WORDS)):
        found = weigh([replace(WORDS, name="other"), reversed_one, OWN], EPISODES).weights
        assert found[1].weight < 0.001 and found[1].why == stacking.REVERSED
        assert found[0].weight + found[2].weight > 0.999
    alone = weigh([turned(TAUGHT), OWN], EPISODES).weights
    assert alone[1].weight > 0.99 and "nothing else goes with them" in alone[1].why


def test_noise_that_nobody_taught_weighs_little() -> None:
    assert weights(TAUGHT, OWN, NOISE)["noise"] < 0.02
    found = sorted(weight_of_noise(seed) for seed in range(20))
    assert found[9] < 0.05 and found[17] < 0.2


NOTHING = reacted(60)


def weight_of_noise(seed: int) -> float:
    """What a model of reactions weighs whose scores have nothing to do with them."""
    episodes, felt = NOTHING
    reactions = arrange(table_of(episodes, felt), episodes)
    scores = np.random.default_rng(seed).permutation([episode.score for episode in episodes])
    other = [replace(e, rating=replace(e.rating, score=float(of))) for e, of in zip(episodes, scores, strict=True)]
    model = learn(replace(reactions, episodes=tuple(other)), frozenset(e.session_id for e in other), ReactionSettings())
    told = Component("told", reactions.by_episode(np.array(felt)))
    own = Component("own", reactions.by_episode(model.worth.values(reactions)), model)
    return float(weigh([told, own], other).of([True, True])[1])


def test_a_rating_of_quality_routes_away_from_replies_where_there_is_anything_else() -> None:
    replies, judge = replace(TAUGHT, reads_replies=True), opinion("judge", EPISODES, WORTH, 3.0, seed=2, trust=1.0)
    own = replace(OWN, reads_replies=True)
    assert weights(replies, judge, own, of_quality=True) == {"taught": 0.0, "judge": 1.0, "own": 0.0}
    assert whys(replies, judge, of_quality=True)["taught"] == stacking.ROUTED
    assert weights(replies, own, of_quality=True) == weights(replies, own)


def labelled(source: Component, count: int, noise: float = 0.3) -> Component:
    """The same as if people's labels of some sessions had taught it."""
    rng = np.random.default_rng(7)
    few = {e.key: WORTH[e.session_id] + noise * rng.normal(size=8) for e in EPISODES[:count]}
    return replace(source, labels={key: np.where(np.arange(8) == 2, np.nan, of) for key, of in few.items()})


def test_people_s_labels_give_what_they_taught_its_share_beside_the_mix_of_all_others() -> None:
    student = opinion("student", EPISODES, WORTH, 0.5, seed=5, reads_replies=True)
    plain = weights(TAUGHT, WORDS, OWN)
    for count in (5, 60):
        found = weigh([TAUGHT, WORDS, OWN, labelled(student, count)], EPISODES).weights
        share = found[3].weight
        # Two opinions of independent noise, of which the mix has the less: they share by what is left of it.
        assert 0.1 < share < 0.6 and found[3].why == stacking.LABELLED.format(sessions=count)
        assert {of.source: of.weight / (1 - share) for of in found[:3]} == pytest.approx(plain)
        assert found[3].low is not None and found[3].high is not None and found[3].low < share < found[3].high
    assert weights(TAUGHT, OWN, labelled(replace(NOISE, name="student"), 60))["student"] < 0.1
    assert weights(TAUGHT, OWN, labelled(turned(student), 20))["student"] == 0.0
    assert weights(labelled(student, 5)) == {"student": 1.0}  # it is all there is
    # People's labels, not the name of the rating, say whether replies tell anything.
    judge = opinion("judge", EPISODES, WORTH, 3.0, seed=2, trust=1.0)
    assert weights(judge, labelled(student, 60), of_quality=True)["student"] > 0.5
    # In a dialogue of which only the others are known, they are as they were.
    known = weigh([TAUGHT, WORDS, OWN, labelled(student, 60)], EPISODES).of([True, True, True, False])
    assert known == pytest.approx([*plain.values(), 0.0])


def test_what_labels_lack_is_told_and_weighs_nothing() -> None:
    found = weigh([TAUGHT, Component("student", {}, lacking="too few")], EPISODES).weights
    assert [(of.source, of.weight, of.why) for of in found] == [
        ("taught", 1.0, stacking.NEEDS_NONE),
        ("student", 0.0, "too few"),
    ]


def test_scores_say_nothing_of_a_source_that_was_shown_them() -> None:
    shown = replace(turned(WORDS), name="shown", shown_score=True, trust=1.0)
    found = weigh([replace(TAUGHT, trust=1.0), shown], EPISODES).weights
    assert [of.weight for of in found] == pytest.approx([0.5, 0.5]) and found[1].why == stacking.SHOWN


def test_a_weight_has_an_interval_around_it() -> None:
    for of in weigh([TAUGHT, OWN], EPISODES).weights:
        assert of.low is not None and of.high is not None and of.low < of.weight < of.high
    (alone,) = weigh([OWN], EPISODES).weights
    assert (alone.weight, alone.low, alone.high) == (1.0, 1.0, 1.0)


def test_weights_by_hand_are_taken_as_they_are_and_shared_by_the_sources_that_a_dialogue_has() -> None:
    found = weigh([OWN, NOISE], EPISODES, given={"own": 1.0, "noise": 3.0})
    assert [of.weight for of in found.weights] == [0.25, 0.75]
    assert {of.why for of in found.weights} == {stacking.GIVEN}
    np.testing.assert_allclose(found.of([True, False]), [1.0, 0.0])
    found = weigh([TAUGHT, OWN], EPISODES)
    np.testing.assert_allclose(found.of([False, True]), [0.0, 1.0])
    np.testing.assert_allclose(found.of([False, False]), [0.0, 0.0])


FEWER, FEWER_WORTH = dialogues(120)
NAMES = [e.session_id for e in FEWER]
ALL = SplitEpisodes(FEWER, splits(train=NAMES[:100], test=NAMES[100:]))


def alike(name: str, values: list[float]) -> Component:
    return Component(name, {e.key: np.array(values + [math.nan] * (8 - len(values))) for e in FEWER})


def turns(found: FittedReactionModel, session: str = "s0000") -> list[float | None]:
    return [row["raw_reward"] for row in found.judgements.to_pylist() if row["session_id"] == session]


def test_hand_computed_cases() -> None:
    one, other = alike("a", [1.0, 1.0, 3.0, 3.0]), alike("b", [-2.0, 2.0, -2.0, 2.0])
    found = mix("m", ALL, [one, other], 7, given={"a": 0.75, "b": 0.25})
    assert turns(found) == pytest.approx([-1.0, -0.5, 0.5, 1.0] + [None] * 4)  # nobody knows the last four
    assert found.judgements.schema == REWARDS.arrow and found.history.schema == HISTORY.arrow
    assert set(found.judgements["method"].to_pylist()) == {"m"} and set(found.judgements["seed"].to_pylist()) == {7}
    one, other = alike("a", [math.nan, -1.0, 1.0]), alike("b", [5.0, 5.0, 5.0])
    found = mix("m", ALL, [one, other], 0, given={"a": 1.0, "b": 1.0})
    assert turns(found)[:4] == pytest.approx([0.0, -0.5, 0.5, None])


def test_an_episode_that_a_source_lacks_is_made_of_the_others() -> None:
    good, other = opinion("good", FEWER, FEWER_WORTH, 0.5), opinion("other", FEWER, FEWER_WORTH, 0.5, seed=4)
    few = Component("few", {key: of for key, of in other.values.items() if key[0] != "s0001"})
    found = mix("m", ALL, [good, few], 0)
    spread = good.values[FEWER[1].key]
    assert turns(found, "s0001") == pytest.approx(((spread - spread.mean()) / spread.std()).tolist())
    nobody = Component("few", {key: of for key, of in good.values.items() if key[0] != "s0001"})
    unknown = mix("m", ALL, [nobody], 0).judgements.to_pylist()
    assert {row["session_id"] for row in unknown if row["raw_reward"] is None} == {"s0001"}


def test_scores_of_training_sessions_alone_decide() -> None:
    own = learnt(opinion("own", FEWER, FEWER_WORTH, 0.5), FEWER)
    changed = [replace(e, rating=replace(e.rating, score=1.0)) if e.session_id in NAMES[100:] else e for e in FEWER]
    other = SplitEpisodes(changed, splits(train=NAMES[:100], test=NAMES[100:]))
    noise = opinion("noise", FEWER, FEWER_WORTH, np.inf, seed=3)
    found, again = (mix("m", of, [own, noise], 0).sources for of in (ALL, other))
    assert found is not None and found.equals(again)


def test_the_table_of_the_sources_tells_weight_interval_and_reason() -> None:
    good, noise = opinion("good", FEWER, FEWER_WORTH, 0.5, trust=0.8), opinion("noise", FEWER, FEWER_WORTH, np.inf, 3)
    found = mix("m", ALL, [good, noise], 2)
    assert found.sources is not None and found.sources.schema == SOURCES.arrow
    one, other = found.sources.to_pylist()
    expected = weigh([good, noise], FEWER[:100]).weights
    assert (one["method"], one["seed"], one["source"], one["sessions"]) == ("m", 2, "good", 100)
    assert [row["weight"] for row in (one, other)] == [of.weight for of in expected]
    assert one["explained_low"] > 0 > other["explained_low"]
    assert other["reason"] == "it needs no score of this corpus"
    steps = {row["metric"]: row["value"] for row in found.history.to_pylist()}
    assert steps["weight of good"] == one["weight"] and steps["R^2 of noise"] == other["explained"]


@pytest.mark.parametrize(("sources", "named"), [([], "none"), ([Component("a", {}), Component("b", {})], "a, b")])
def test_without_any_source_that_knows_anything(sources: list[Component], named: str) -> None:
    with pytest.raises(UnitError, match=rf"method 'mix': no source \({named}\) knows any session"):
        mix("mix", ALL, sources, 0)


def test_a_mix_of_what_scores_have_not_taught_anything_judges_nothing() -> None:
    nothing = learnt(opinion("own", FEWER, FEWER_WORTH, np.inf), FEWER, 0.0)
    found = mix("m", SplitEpisodes(FEWER, splits(train=NAMES)), [nothing], 0)
    assert found.judgements.num_rows == 960 and found.judgements["raw_reward"].null_count == 960
