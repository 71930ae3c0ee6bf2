"""A step of a GRU for one row beside `recurrent.gru_step`."""

import numpy as np
import pytest
import torch

from apportion.rlhf.negotiation.model.loops.gates import gru_step
from apportion.rlhf.negotiation.model.recurrent import gru_step as batched_step


def test_it_is_that_of_the_batched_network() -> None:
    rng = np.random.default_rng(2)
    weight, bias, brought, before = (
        rng.normal(size=shape).astype(np.float32) for shape in ((7, 21), (21,), (21,), (7,))
    )
    parts = np.empty((5, 7), dtype=np.float32)
    gru_step(brought, bias + before @ weight, before, *parts)
    one = (torch.from_numpy(given)[None] for given in (weight, bias, brought[None], before[None]))
    assert parts[-1] == pytest.approx(batched_step(*one)[0, 0].numpy(), abs=1e-5)
