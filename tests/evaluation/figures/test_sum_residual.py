import numpy as np
import pytest

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, Missing
from apportion.evaluation.figures.global_loss import residual_told, sum_residual
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from tests.evaluation.made_up import episode

SETTINGS = EvaluationSettings()
HELD = TestSet.of([episode("a", 2, 60.0), episode("b", 3, 40.0)])
RAW = np.array([[4.0, 3.0, -1.0, -2.0, -5.0]])


def projected(raw: Floats, scale: float, offset: float) -> Floats:
    """R~/T + s * (raw - mean raw), as decompositions are made."""
    target = np.repeat((HELD.scores - offset) / HELD.lengths, HELD.lengths)
    return target + scale * (raw - np.repeat(HELD.totals(raw) / HELD.lengths, HELD.lengths, axis=1))


def test_hand_computed_case():
    found = sum_residual(HELD, projected(RAW, 1.0, 50.0), RAW, 50.0, SETTINGS)
    assert isinstance(found, BootstrapResult)
    assert found.value == pytest.approx((abs(10 - 7) + abs(-10 + 8)) / 2)


def test_the_paper_s_form_has_no_offset():
    found = sum_residual(HELD, projected(RAW, 1.0, 0.0), RAW, 0.0, SETTINGS)
    assert isinstance(found, BootstrapResult)
    assert found.value == pytest.approx(((60 - 7) + (40 + 8)) / 2)


@pytest.mark.parametrize(
    ("raw", "scale", "reason"),
    [
        (RAW, 2.5, "scale of their own"),
        (np.ones((1, 5)), 1.0, "the same for all turns"),
        (np.where(RAW == 3.0, np.nan, RAW), 1.0, "no value of the method's own"),
    ],
)
def test_where_the_sum_means_nothing_the_reason_is_said(raw, scale, reason):
    found = sum_residual(HELD, projected(raw, scale, 50.0), raw, 50.0, SETTINGS)
    assert isinstance(found, Missing) and reason in found.reason


def test_what_the_projection_has_told_is_averaged_over_episodes_and_seeds():
    a, b = (e.key for e in HELD.episodes)
    found = residual_told(HELD, [{a: 1.0, b: -2.0}, {a: 0.0, b: 0.0}], SETTINGS)
    assert found.values.tolist() == [1.5, 0.0]
