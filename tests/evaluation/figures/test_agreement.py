import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, spearmanr

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, Missing
from apportion.evaluation.figures.agreement import count, one_annotator, pooled_auc, spearman, within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import TurnLabels, read_labels
from apportion.evaluation.settings import EvaluationSettings
from tests.evaluation.made_up import episode, labels

SETTINGS = EvaluationSettings(bootstrap=300)


def read(table: object, held: TestSet, settings: EvaluationSettings = SETTINGS) -> TurnLabels:
    found = read_labels(table, held, settings)  # type: ignore[arg-type]
    assert isinstance(found, TurnLabels)
    return found


def sampled(figure: BootstrapResult | Missing) -> BootstrapResult:
    assert isinstance(figure, BootstrapResult), figure
    return figure


small = st.integers(-3, 3).map(float)


@given(st.integers(4, 12).flatmap(lambda n: st.tuples(*[st.lists(small, min_size=n, max_size=n)] * 2)))
def test_spearman_agrees_with_scipy(pair):
    values, wanted = np.array(pair[0]), np.array(pair[1])
    ours = spearman(values[None], wanted)[0]
    if np.ptp(values) == 0 or np.ptp(wanted) == 0:
        assert ours == 0.0
    else:
        assert ours == pytest.approx(spearmanr(values, wanted).statistic)


def test_rounding_does_not_make_a_constant_prediction_vary():
    values = np.array([[0.1 + 0.2, 0.3, 0.3, 0.3]])
    assert spearman(values, np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [0.0]


def test_within_session_hand_computed_case():
    held = TestSet.of([episode(s, n, 50.0) for s, n in (("a", 4), ("b", 4), ("c", 4), ("d", 3), ("e", 5))])
    rows = [("a", 2 * i, "x", v) for i, v in enumerate([1, 2, 3, 4])]
    rows += [("b", 2 * i, "x", v) for i, v in enumerate([4, 3, 2, 1])]
    rows += [("c", 2 * i, "x", 3) for i in range(4)]  # constant labels: left out
    rows += [("d", 2 * i, "x", v) for i, v in enumerate([1, 2, 3])]  # three turns: left out
    rows += [("e", 2 * i, "x", v) for i, v in enumerate([1, 5, 2, 4])]  # four of five labelled; constant prediction
    rows += [("a", 1, "x", 5.0)]  # on the rater's turn: dropped
    found = read(labels(rows), held)
    values = np.array([[1.0, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3, 4, 1, 2, 3, 7, 7, 7, 7, 7]])
    result = sampled(within_session(held, values, found, SETTINGS))
    assert result.sessions == 3
    assert result.value == pytest.approx((1.0 - 1.0 + 0.0) / 3)
    counts = count(held, found, SETTINGS)
    assert (counts.episodes, counts.few, counts.constant, counts.dropped) == (3, 1, 1, 1)


@given(st.lists(st.tuples(small, st.booleans()), min_size=2, max_size=30))
def test_auc_agrees_with_mann_whitney(turns):
    held = TestSet.of([episode("a", len(turns), 50.0)])
    found = read(labels([("a", 2 * i, "x", 5.0 if up else 1.0) for i, (_, up) in enumerate(turns)]), held)
    values = np.array([[value for value, _ in turns]])
    up = np.array([above for _, above in turns])
    result = pooled_auc(held, values, found, EvaluationSettings(bootstrap=100))
    if up.all() or not up.any():
        assert isinstance(result, Missing)
    else:
        u = mannwhitneyu(values[0][up], values[0][~up]).statistic
        assert sampled(result).value == pytest.approx(u / (up.sum() * (~up).sum()))


def test_resampled_auc_equals_the_auc_of_repeated_sessions():
    rng = np.random.default_rng(0)
    held = TestSet.of([episode(f"s{i}", 5, 50.0) for i in range(6)])
    values, wanted = rng.normal(size=(1, 30)).round(1), rng.choice([1.0, 5.0], size=30)
    rows = [(f"s{i}", 2 * j, "x", wanted[5 * i + j]) for i in range(6) for j in range(5)]
    result = sampled(pooled_auc(held, values, read(labels(rows), held), SETTINGS))
    from apportion.evaluation.confidence_intervals.bootstrap import resample_counts

    for replicate, drawn in zip(result.replicates[:20], resample_counts(6, SETTINGS)[:20], strict=True):
        again = np.repeat(np.arange(30), np.repeat(drawn, 5).astype(int))
        up, down = (values[0][again][wanted[again] == side] for side in (5.0, 1.0))
        assert replicate == pytest.approx(mannwhitneyu(up, down).statistic / (len(up) * len(down)))


def test_middle_is_the_scale_s_and_the_mean_where_labels_are_one_sided_or_without_scale():
    held = TestSet.of([episode("a", 3, 50.0)])
    two_sided = [("a", 0, "x", 1.0), ("a", 2, "x", 3.0), ("a", 4, "x", 5.0)]
    one_sided = [("a", 0, "x", 3.0), ("a", 2, "x", 4.0), ("a", 4, "x", 5.0)]
    assert read(labels(two_sided), held).middle_is == "midpoint"
    found = read(labels(one_sided), held)
    assert found.middle_is == "mean" and found.means(3)[1].tolist() == [-1.0, 0.0, 1.0]
    assert read(labels(two_sided, low=None), held).middle_is == "mean"


def test_one_annotator_against_the_mean_of_the_others():
    held = TestSet.of([episode("a", 4, 50.0)])
    given_labels = {"x": [1, 2, 4, 5], "y": [1, 2, 4, 5], "z": [5, 4, 2, 1]}
    rows = [("a", 2 * i, who, v) for who, vs in given_labels.items() for i, v in enumerate(vs)]
    rho, auc = one_annotator(held, read(labels(rows), held), SETTINGS)
    # x against mean(y, z) = 3 throughout: constant, left out; likewise y; z against mean(x, y): -1.
    assert sampled(rho).value == pytest.approx(-1.0)
    assert sampled(auc).value == pytest.approx(0.0)


def test_leave_one_out_equals_a_plain_loop():
    rng = np.random.default_rng(5)
    held = TestSet.of([episode(f"s{i}", 6, 50.0) for i in range(8)])
    rows = [(f"s{i}", 2 * j, who, float(rng.integers(1, 6))) for i in range(8) for j in range(6) for who in "xyz"]
    rho, _ = one_annotator(held, read(labels(rows), held), SETTINGS)
    value = {(s, t, who): v for s, t, who, v in rows}
    expected = []
    for i in range(8):
        mine = []
        for who in "xyz":
            others = [np.mean([value[f"s{i}", 2 * j, o] for o in "xyz" if o != who]) for j in range(6)]
            own = [value[f"s{i}", 2 * j, who] for j in range(6)]
            if np.ptp(own) > 0:
                mine.append(spearmanr(own, others).statistic)
        expected.append(np.mean(mine))
    assert sampled(rho).value == pytest.approx(np.mean(expected))


ALIKE_AND_NOT = [(2 * i, "x", 3.0) for i in range(4)] + [(2 * i, "y", v) for i, v in enumerate([1, 2, 4, 5])]


@pytest.mark.parametrize(
    ("given_labels", "reason"),
    [
        (ALIKE_AND_NOT, ""),
        ([(2 * i, None, i) for i in range(4)], "no others"),
        ([(0, "x", 1.0), (2, "y", 2.0)], "two annotators"),
    ],
)
def test_an_annotator_who_cannot_be_compared_with_others(given_labels, reason):
    held = TestSet.of([episode("a", 4, 50.0)])
    rho, _ = one_annotator(held, read(labels([("a", *row) for row in given_labels]), held), SETTINGS)
    assert isinstance(rho, Missing) and reason in rho.reason


def test_too_few_labelled_turns_give_no_correlation():
    held = TestSet.of([episode("a", 4, 50.0)])
    found = read(labels([("a", 0, "x", 1.0), ("a", 2, "x", 5.0)]), held)
    result = within_session(held, np.zeros((1, 4)), found, SETTINGS)
    assert isinstance(result, Missing) and "4 labelled target turns" in result.reason


def test_labels_of_several_names_ask_for_a_choice():
    import pyarrow as pa

    held = TestSet.of([episode("a", 4, 50.0)])
    table = labels([("a", 0, "x", 1.0)])
    other = table.set_column(3, table.schema.field("name"), pa.array(["sense"]))
    both = pa.concat_tables([table, other])
    unchosen = read_labels(both, held, SETTINGS)
    assert isinstance(unchosen, Missing) and "quality, sense" in unchosen.reason
    assert read(both, held, SETTINGS.model_copy(update={"label": "sense"})).name == "sense"
    wrong = read_labels(both, held, SETTINGS.model_copy(update={"label": "fun"}))
    assert isinstance(wrong, Missing) and "'fun'" in wrong.reason


@pytest.mark.parametrize(
    ("table", "reason"),
    [(None, "no labels of turns"), (labels([]), "no labels of turns"), (labels([("z", 0, "x", 1.0)]), "no held-out")],
)
def test_without_labels_the_reason_is_said(table, reason):
    found = read_labels(table, TestSet.of([episode("a", 4, 50.0)]), SETTINGS)  # type: ignore[arg-type]
    assert isinstance(found, Missing) and reason in found.reason
