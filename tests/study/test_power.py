import math

import numpy as np
import pytest
from scipy.stats import nct, t

from apportion.evaluation.human_agreement.answers import Answers
from apportion.foundation.errors import InputError
from apportion.study.power import (
    Components,
    Design,
    components_of_answers,
    components_of_marks,
    components_of_ratings,
    items_needed,
    power,
    simulated_power,
    smallest_difference,
)
from apportion.study.simulated_annotators import INDEPENDENT, Shared, assigned

PAPER = Design(100, 3, 30, 63)


def test_it_is_the_power_of_students_test():
    parts = Components(0.03, 0.01, 0.2)
    error = math.sqrt(0.03 / 100 + 0.01 / 30 + 0.2 / 300)
    bound = t.isf(0.025, 29)
    expected = nct.sf(bound, 29, 0.1 / error) + nct.cdf(-bound, 29, 0.1 / error)
    assert power(PAPER, 0.1, parts).alone == pytest.approx(expected)
    assert power(PAPER, 0.0, parts).alone == pytest.approx(0.05)
    assert power(PAPER, 0.0, parts).corrected == pytest.approx(0.05 / 63)


def test_it_grows_with_the_study_and_is_none_of_them_skipped():
    """scipy's far tail is not a number at some of these sizes, which was taken for a power of 1."""
    told = [
        power(PAPER.with_items(items), 0.10, components_of_marks(0.2, 0.3, Shared())) for items in range(50, 900, 5)
    ]
    for one in ("alone", "corrected"):
        values = [getattr(found, one) for found in told]
        steps = np.diff(values)
        # A step back of a thousandth: the annotators are whole people, so that items an annotator differ a little.
        assert steps.min() > -1e-3 and steps.max() < 0.05, one
    assert told[70].corrected == pytest.approx(0.921, abs=0.01)


@pytest.mark.parametrize(
    ("base", "difference", "shared", "counted"),
    [
        (0.0867, 0.130, Shared(), (0.55, 0.97)),
        (0.0867, 0.107, Shared(), (0.32, 0.89)),
        (0.9233, -0.080, Shared(), (0.14, 0.74)),
        (0.1633, 0.070, Shared(), (0.03, 0.42)),
        (0.0867, 0.130, INDEPENDENT, (0.77, 0.99)),
    ],
)
def test_it_tells_what_was_counted_on_studies_of_the_paper_s_size(base, difference, shared, counted):
    found = power(PAPER, difference, components_of_marks(base, base + difference, shared))
    assert (found.corrected, found.alone) == pytest.approx(counted, abs=0.05)


@pytest.mark.slow
def test_it_is_what_simulated_studies_count():
    design, shared = Design(60, 4, 12), Shared()
    counted = simulated_power(design, 0.2, 0.35, shared, 40)
    # 40 studies: a standard error of 0.07.
    assert power(design, 0.15, components_of_marks(0.2, 0.35, shared)).alone == pytest.approx(counted.alone, abs=0.1)
    assert counted.corrected == counted.alone


def test_independent_marks_have_the_variance_of_two_shares():
    found = components_of_marks(0.2, 0.5, INDEPENDENT)
    assert (found.item, found.annotator) == (0, 0)
    assert found.rest == pytest.approx(0.2 * 0.8 + 0.5 * 0.5)


def test_what_ratings_of_one_annotator_share_falls_out_of_their_difference():
    found = components_of_ratings(2.0, Shared(item=0.3, annotator=0.3, response=0.1, taste=0.05))
    assert (found.item, found.annotator, found.rest) == pytest.approx((0.8, 0.4, 2.0))


def test_components_of_a_study_that_was_done():
    rng = np.random.default_rng(0)
    items, people = assigned(200, 4, 40, rng)
    parts = 0.5 * rng.standard_normal(200)[items] + 0.3 * rng.standard_normal(40)[people]
    values = np.stack([np.zeros(800), parts + rng.standard_normal(800)], axis=1)
    found = components_of_answers("a", {"x": Answers(("a", "b"), items, people, values)})
    assert (found.item, found.annotator, found.rest) == pytest.approx((0.25, 0.09, 1.0), abs=0.1)
    with pytest.raises(InputError, match="no difference of this study has answers enough"):
        components_of_answers("a", {"x": Answers(("a", "b"), items, people, np.zeros((800, 2)))})


def test_the_smallest_difference_is_told_and_a_smaller_one_is_not():
    def parts(difference):
        return components_of_marks(0.2, 0.2 + difference, Shared())

    found = smallest_difference(PAPER, parts, 0.79, 0.8)
    assert (
        power(PAPER, found, parts(found)).corrected >= 0.8 > power(PAPER, found - 0.002, parts(found - 0.002)).corrected
    )
    assert smallest_difference(Design(2, 1, 2, 63), parts, 0.79, 0.8) == math.inf


def test_items_needed_are_enough_and_one_fewer_is_not():
    parts = components_of_marks(0.2, 0.25, Shared())
    need = items_needed(PAPER, 0.05, parts, 0.8)
    assert power(PAPER.with_items(need), 0.05, parts).corrected >= 0.8
    assert power(PAPER.with_items(need - 10), 0.05, parts).corrected < 0.8
    assert PAPER.with_items(1000).annotators == 300 and PAPER.with_items(1000).each == PAPER.each
    assert items_needed(PAPER, 1e-6, parts, 0.8) is None


def test_no_variance_leaves_nothing_to_chance():
    assert power(PAPER, 0.1, Components(0, 0, 0)).alone == 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((1, 1, 5), "at least 2 of both are needed"),
        ((9, 6, 5), "6 answers to an item of 5 annotators: 1 to 5 can be"),
        ((9, 3, 5, 0), "0 comparisons: at least 1"),
    ],
)
def test_a_design_that_cannot_be(values, message):
    with pytest.raises(InputError, match=message):
        Design(*values)


def test_figures_that_cannot_be():
    with pytest.raises(InputError, match="a share of marks of 1: it has to be above 0 and below 1"):
        components_of_marks(0.2, 1.0, Shared())
    with pytest.raises(InputError, match="a standard deviation of 0: it has to be above 0"):
        components_of_ratings(0.0, Shared())
    with pytest.raises(InputError, match="0 simulated studies"):
        simulated_power(PAPER, 0.2, 0.3, Shared(), 0)
