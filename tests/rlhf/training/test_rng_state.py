from __future__ import annotations

from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.utils import logging

from apportion.rlhf.training.rng_state import ShuffledOrder, quiet_transformers


def test_bars_and_warnings_are_off_inside_and_as_before_outside_even_after_an_error():
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with pytest.raises(ZeroDivisionError), quiet_transformers():
        assert logging.get_verbosity() == logging.ERROR and not logging.is_progress_bar_enabled()
        raise ZeroDivisionError
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


@given(st.integers(1, 9), st.integers(0, 30))
def test_each_comes_once_a_round_and_what_is_left_can_be_taken_up_again(count, taken):
    torch.manual_seed(0)
    order = ShuffledOrder(count)
    seen = list(islice(order, taken))
    for start in range(0, taken - count + 1, count):
        assert sorted(seen[start : start + count]) == list(range(count))
    rng, again = torch.get_rng_state(), ShuffledOrder(count, order.left)
    rest = list(islice(order, 20))
    torch.set_rng_state(rng)
    assert list(islice(again, 20)) == rest
