from __future__ import annotations

import pytest

from apportion.rlhf.ppo.kl_control import KLControl
from apportion.rlhf.settings import AlignSettings


def test_the_fixed_weight_stays():
    control = KLControl(AlignSettings(beta=0.3))
    control.update(1000.0)
    assert control.coefficient == 0.3


@pytest.mark.parametrize(("seen", "factor"), [(6.0, 1.0), (6.6, 1.024), (60.0, 1.048), (5.4, 0.976), (-3.0, 0.952)])
def test_the_adaptive_weight_follows_the_clipped_error(seen, factor):
    # 24 replies of a horizon of 100; the error is held within a fifth either way (Ziegler et al., 2019).
    control = KLControl(AlignSettings(kl_controller="adaptive", kl_target=6.0, kl_horizon=100, beta=0.5))
    control.update(seen)
    assert control.coefficient == pytest.approx(0.5 * factor)
