import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Figure, Missing
from apportion.evaluation.evaluation import Evaluation, FaceCounts, MethodFigures
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.errors import InputError
from tests.evaluation.made_up import corpus, episode, evaluated, features, labels, rewards, splits

SETTINGS = EvaluationSettings(bootstrap=300, random_draws=5)
EPISODES, HIDDEN = corpus(60)
NAMES = [e.session_id for e in EPISODES]
SPLITS = splits(train=NAMES[:30], validation=NAMES[30:35], test=NAMES[35:55], policy=NAMES[55:])
TRAINING_MEAN = float(np.mean([e.score for e in EPISODES[:30]]))


def noisy(sd: float, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {s: v + rng.normal(0, sd, len(v)) + (50 - TRAINING_MEAN) / len(v) for s, v in HIDDEN.items()}


def guessed() -> dict[str, np.ndarray]:
    """Small turn values that have nothing to do with the scores: 20 sessions cannot tell them from the Mean."""
    rng = np.random.default_rng(7)
    return {s: rng.normal(0, 0.1, len(v)) for s, v in HIDDEN.items()}


def people() -> pa.Table:
    rng = np.random.default_rng(2)
    return labels(
        (s, 2 * i, who, float(np.clip(np.round(3 + v / 3 + rng.normal(0, 0.7)), 1, 5)))
        for s, values in HIDDEN.items()
        for i, v in enumerate(values)
        for who in "xyz"
    )


def smiles() -> pa.Table:
    return features(
        (s, 2 * i, "user", "during", "smile", float(v > 0))
        for s, values in HIDDEN.items()
        for i, v in enumerate(values)
    )


def inputs(**changes: Any) -> dict[str, Any]:
    near, far = noisy(0.3), noisy(3.0)
    scores = pa.concat_tables(
        [rewards(EPISODES, near, "near", 0), rewards(EPISODES, noisy(0.3, 9), "near", 1), rewards(EPISODES, far, "far")]
    )
    decomposed = rewards(EPISODES, HIDDEN, "near", raw=near)
    plain = {
        "scores": scores,
        "rewards": decomposed,
        "offsets": {"near": TRAINING_MEAN, "far": TRAINING_MEAN},
        "episodes": EPISODES,
        "splits": SPLITS,
        "utterance_features": smiles(),
        "turn_labels": people(),
        "settings": SETTINGS,
    }
    return {**plain, **changes}


def of(methods: tuple[MethodFigures, ...], name: str) -> MethodFigures:
    return next(figures for figures in methods if figures.method == name)


def value(figure: Figure) -> float:
    assert isinstance(figure, Estimate), figure
    return figure.value


def test_global_loss_equals_a_plain_loop_over_the_test_sessions(usual):
    far = noisy(3.0)
    expected = [(e.score - TRAINING_MEAN - sum(far[e.session_id])) ** 2 for e in EPISODES[35:55]]
    assert value(of(usual.reward_models, "far").global_loss) == pytest.approx(np.mean(expected))
    scores = [e.score for e in EPISODES[35:55]]
    mean = of(usual.baselines, "Mean").global_loss
    assert value(mean) == pytest.approx(np.mean(np.square(np.array(scores) - TRAINING_MEAN)))


def test_a_residual_that_the_projection_tells_is_taken_even_where_a_value_is_null():
    rows = inputs()["rewards"].to_pylist()
    rows[-1]["raw_reward"] = next(row for row in rows if row["session_id"] == NAMES[40])["raw_reward"] = None
    table = pa.Table.from_pylist(rows, schema=inputs()["rewards"].schema)
    found = evaluated(**inputs(rewards=table))
    assert isinstance(of(found.decompositions, "near").sum_residual, Missing)
    told = {"near": [{e.key: -0.25 for e in EPISODES}]}
    assert value(of(evaluated(**inputs(rewards=table, residuals=told)).decompositions, "near").sum_residual) == 0.25


def test_two_seeds_are_averaged_and_their_spread_is_given(usual):
    near = of(usual.reward_models, "near")
    assert near.seeds == 2 and isinstance(near.global_loss, Estimate)
    assert near.global_loss.seed_sd is not None and near.global_loss.seed_sd > 0
    losses = [
        np.mean([(e.score - TRAINING_MEAN - sum(v[e.session_id])) ** 2 for e in EPISODES[35:55]])
        for v in (noisy(0.3), noisy(0.3, 9))
    ]
    assert near.global_loss.value == pytest.approx(np.mean(losses))


def test_a_good_model_is_below_mean_and_agrees_with_people(usual):
    near = of(usual.reward_models, "near")
    for figure in (near.below_mean, near.local_difference, near.spearman):
        assert isinstance(figure, Estimate) and figure.above_zero
    assert value(near.spearman) > 0.7 and value(near.auc) > 0.85


def test_constant_baselines_know_nothing_of_turns(usual):
    for name in ("Mean", "Mode"):
        figures = of(usual.baselines, name)
        assert (value(figures.local_difference), value(figures.spearman), value(figures.auc)) == (0.0, 0.0, 0.5)
    assert abs(value(of(usual.baselines, "Random").spearman)) < 0.2
    assert isinstance(of(usual.baselines, "Random").global_loss, Missing)
    assert isinstance(of(usual.baselines, "Mean").below_mean, Missing)


def test_every_two_methods_are_compared_in_pairs(usual):
    pairs = [
        (c.method, c.against) for c in usual.comparisons if (c.among, c.figure) == ("reward_models", "global_loss")
    ]
    assert sorted(pairs) == list(combinations(("Mean", "Mode", "far", "near"), 2))
    far = next(c for c in usual.comparisons if c.figure == "global_loss" and (c.method, c.against) == ("far", "near"))
    models = usual.reward_models
    expected = value(of(models, "far").global_loss) - value(of(models, "near").global_loss)
    assert far.difference.value == pytest.approx(expected)
    assert far.difference.above_zero


def test_a_decomposition_has_a_sum_residual_and_no_global_loss(usual):
    figures = of(usual.decompositions, "near")
    assert isinstance(figures.global_loss, Missing) and isinstance(figures.below_mean, Missing)
    assert "seen the score" in figures.global_loss.reason
    assert value(figures.spearman) > 0.8


def test_baselines_beside_decompositions(usual):
    scores = np.array([e.score for e in EPISODES[35:55]])
    mean = of(usual.decomposition_baselines, "Mean")
    assert value(mean.sum_residual) == pytest.approx(np.abs(scores - TRAINING_MEAN).mean())
    assert (value(mean.spearman), value(mean.auc)) == (0.0, 0.5) and isinstance(mean.global_loss, Missing)
    assert isinstance(of(usual.decomposition_baselines, "Random").sum_residual, Missing)
    pairs = [(c.method, c.against) for c in usual.comparisons if (c.among, c.figure) == ("decompositions", "spearman")]
    assert ("Mean", "near") in pairs and ("Random", "near") in pairs


def test_a_model_that_knows_the_turns_is_calibrated(usual):
    near = of(usual.reward_models, "near")
    assert value(near.slope) == pytest.approx(1.0, abs=0.05) and value(near.intercept) == pytest.approx(0.0, abs=2.5)
    far = of(usual.reward_models, "far")
    assert value(far.slope) < 0.8 and value(far.calibration_error) > value(near.calibration_error)


def test_counts(usual):
    counts = usual.counts
    assert (counts.training_scores, counts.test_sessions, counts.scored_sessions) == (30, 20, 20)
    assert isinstance(usual.faces, FaceCounts) and usual.faces.feature == "smile"
    assert usual.faces.happy + usual.faces.other == sum(len(HIDDEN[s]) for s in NAMES[35:55])
    assert value(usual.one_annotator.spearman) > 0.5


def test_the_document_is_stable_and_reads_back(usual):
    again = evaluated(**inputs())
    assert again.to_json() == usual.to_json()
    assert Evaluation.from_json(json.loads(json.dumps(usual.to_json(), allow_nan=False))) == usual
    assert json.dumps(usual.to_json()) == json.dumps(usual.to_json(), sort_keys=True)


def test_shuffled_rows_change_nothing(usual):
    plain = inputs()
    rng = np.random.default_rng(4)
    tables = ("scores", "rewards", "splits", "utterance_features", "turn_labels")
    shuffled = {name: plain[name].take(rng.permutation(plain[name].num_rows)) for name in tables}
    result = evaluated(**inputs(**shuffled, episodes=EPISODES[::-1]))
    assert result.to_json() == usual.to_json()


def test_other_splits_do_not_enter(usual):
    """Labels, faces and predictions of sessions outside the test split are not read."""
    test = set(NAMES[35:55])

    def only_test(table: pa.Table) -> pa.Table:
        return table.filter(pa.array([s in test for s in table["session_id"].to_pylist()]))

    plain = inputs()
    tables = ("scores", "rewards", "utterance_features", "turn_labels")
    assert evaluated(**inputs(**{name: only_test(plain[name]) for name in tables})).to_json() == usual.to_json()


def test_partial_methods_shrink_the_common_set_and_this_is_said():
    plain = inputs()
    some = rewards(EPISODES, {s: HIDDEN[s] for s in NAMES[:50]}, "far")
    near = plain["scores"].filter(pa.array([m == "near" for m in plain["scores"]["method"].to_pylist()]))
    lost = rewards(EPISODES[:30], {s: HIDDEN[s] for s in NAMES[:30]}, "lost")
    result = evaluated(**inputs(scores=pa.concat_tables([near, some, lost])))
    assert result.counts.scored_episodes == 15 and [f.method for f in result.reward_models] == ["far", "near"]
    assert any("lost has no complete test episode" in warning for warning in result.warnings)
    assert any("15 of 20 test episodes: far lacks 5" in warning for warning in result.warnings)


def test_methods_without_a_common_episode_have_no_figures():
    one, other = ({s: HIDDEN[s] for s in NAMES[i : i + 5]} for i in (35, 40))
    scores = pa.concat_tables([rewards(EPISODES, one, "near"), rewards(EPISODES, other, "far")])
    result = evaluated(**inputs(scores=scores))
    assert result.counts.scored_episodes == 0
    assert isinstance(of(result.reward_models, "near").global_loss, Missing)
    assert isinstance(of(result.baselines, "Random").spearman, Missing)


def test_scores_without_variance_and_methods_too_close_are_told():
    flat = [episode(s, len(HIDDEN[s]), 50.0) for s in NAMES]
    result = evaluated(**inputs(episodes=flat))
    assert any("without variance" in warning for warning in result.warnings)
    result = evaluated(**inputs(scores=rewards(EPISODES, guessed(), "near")))
    (finding,) = result.findings
    assert "No reward model has a lower global loss than the Mean baseline; near comes nearest" in finding
    close = rewards(EPISODES, {s: v + 0.01 for s, v in noisy(3.0).items()}, "near")
    both = pa.concat_tables([rewards(EPISODES, noisy(3.0), "far"), close])
    apart = evaluated(**inputs(scores=both)).findings
    assert any("20 test sessions do not tell" in w and "test sessions would" in w for w in apart), apart


def test_a_single_test_session_has_no_intervals():
    result = evaluated(**inputs(splits=splits(train=NAMES[:30], test=NAMES[35:36])))
    loss = of(result.reward_models, "near").global_loss
    assert isinstance(loss, Estimate) and loss.low is None
    assert any("A single test session cannot tell near" in told for told in result.findings)


def rated(episode, **changes):
    return replace(episode, rating=replace(episode.rating, **changes))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"splits": splits(train=NAMES)}, r"no rated session is in the test split \(60 rated in all\)"),
        ({"splits": splits(test=NAMES)}, r"no rated session is in the train split"),
        ({"episodes": []}, r"no rated session is in the test split \(0 rated"),
        ({"offsets": {"near": 0.0}}, r"without a score offset: far; offsets are known of: near"),
        ({"episodes": [*EPISODES, rated(EPISODES[0], name="trust")]}, "liking, trust"),
        (
            {"episodes": [rated(e, target="nobody") for e in EPISODES]},
            "no target utterance in any of the 20 test episodes",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        evaluated(**inputs(**change))


def test_what_is_in_units_of_its_own_is_never_the_best_and_its_local_difference_is_compared_with_none(usual):
    found, plain = evaluated(**inputs(own_units=("near",))), usual
    assert found.own_units == ("near",) and plain.own_units == ()
    assert of(found.reward_models, "near") == of(plain.reward_models, "near")
    pairs = {(c.figure, c.method, c.against) for c in found.comparisons}
    dropped = {(c.figure, c.method, c.against) for c in plain.comparisons} - pairs
    assert dropped and {figure for figure, *_ in dropped} == {"local_difference"}
    assert all("near" in methods for _, *methods in dropped)
    assert not any("near" in text for text in found.warnings)
