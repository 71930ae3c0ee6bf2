from __future__ import annotations

import pytest
from transformers.utils import logging

from apportion.rlhf.training.rng_state import quiet_transformers


def test_bars_and_warnings_are_off_inside_and_as_before_outside_even_after_an_error():
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with pytest.raises(ZeroDivisionError), quiet_transformers():
        assert logging.get_verbosity() == logging.ERROR and not logging.is_progress_bar_enabled()
        raise ZeroDivisionError
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
