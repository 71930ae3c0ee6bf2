import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import t
from statsmodels.regression.mixed_linear_model import MixedLMParams

from apportion.evaluation.human_agreement.mixed_model import mixed_mean


def study(seed: int, by_item: float, by_annotator: float, marks: bool = False):
    rng = np.random.default_rng(seed)
    items = np.repeat(np.arange(30), 3)
    people = np.concatenate([rng.permutation(10) for _ in range(9)])
    values = by_item * rng.standard_normal(30)[items] + by_annotator * rng.standard_normal(10)[people]
    values = values + rng.standard_normal(90) + 0.2
    return (np.sign(values) * (np.abs(values) > 0.8) if marks else values), items, people


def of_statsmodels(values, items, people, **how):
    data = pd.DataFrame({"value": values, "item": items, "person": people, "all": 1})
    crossed = {"item": "0 + C(item)", "person": "0 + C(person)"}
    model = sm.MixedLM.from_formula("value ~ 1", groups="all", re_formula="0", vc_formula=crossed, data=data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of its optimiser, on its way.
        return model, model.fit(reml=True, **how)


@pytest.mark.parametrize(("seed", "marks"), [(0, False), (2, False), (3, True), (4, False), (5, True)])
def test_it_is_that_of_statsmodels(seed, marks):
    values, items, people = study(seed, 0.6, 0.5, marks)
    ours = mixed_mean(values, items, people)
    _, theirs = of_statsmodels(values, items, people)
    # Its search stops after some four digits of the variances.
    assert ours.value == pytest.approx(theirs.fe_params.iloc[0], abs=1e-9)
    assert ours.error == pytest.approx(theirs.bse_fe.iloc[0], rel=1e-3)
    found = dict(zip(theirs.model.exog_vc.names, theirs.vcomp, strict=True))
    assert (ours.item_variance, ours.annotator_variance) == pytest.approx((found["item"], found["person"]), abs=2e-3)
    assert ours.residual_variance == pytest.approx(theirs.scale, rel=1e-3)


@pytest.mark.parametrize(("seed", "by_annotator"), [(1, 0.5), (0, 0.0), (1, 0.0), (2, 0.0)])
def test_where_statsmodels_stops_before_the_top_this_goes_on(seed, by_annotator):
    values, items, people = study(seed, 0.5, by_annotator, marks=seed == 1)
    ours = mixed_mean(values, items, people)
    model, theirs = of_statsmodels(values, items, people)
    variances = np.maximum([ours.item_variance, ours.annotator_variance], 1e-9) / ours.residual_variance
    at_ours = MixedLMParams.from_components(np.zeros(1), vcomp=variances, cov_re=np.zeros((0, 0)))
    assert model.loglike(at_ours) >= theirs.llf - 1e-7


def test_the_interval_is_students_with_the_fewer_clusters():
    found = mixed_mean(*study(4, 0.5, 0.5))
    assert (found.low, found.high) == pytest.approx(t.interval(0.95, 9, loc=found.value, scale=found.error))
    assert found.p == pytest.approx(2 * t.sf(abs(found.value) / found.error, 9))


def test_answers_that_are_missing_count_nowhere():
    values, items, people = study(5, 0.5, 0.5)
    values[::7] = np.nan
    known = np.isfinite(values)
    assert mixed_mean(values, items, people) == mixed_mean(values[known], items[known], people[known])


@pytest.mark.parametrize(
    ("values", "items", "people"),
    [
        ([], [], []),
        ([1.0, 0.0], [0, 1], [0, 0]),  # One annotator.
        ([1.0, 0.0, 1.0], [0, 1, 2], [0, 1, 2]),  # An answer each.
        ([1.0] * 4, [0, 0, 1, 1], [0, 1, 0, 1]),  # All equal.
    ],
)
def test_too_little_to_tell(values, items, people):
    assert mixed_mean(np.array(values), np.array(items, int), np.array(people, int)) is None
