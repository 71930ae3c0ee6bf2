"""Rows that are there, put together and back."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from rlhf.negotiation.model.packing import FULL, Rows, packed, unpacked


@given(seeds=st.integers(1, 4), count=st.integers(1, 12), number=st.integers(0, 999))
def test_what_is_put_together_comes_back_and_padding_is_zero(seeds: int, count: int, number: int) -> None:
    draws = torch.Generator().manual_seed(number)
    there = torch.rand(seeds, count, generator=draws) < torch.rand(1, generator=draws)
    rows = Rows.of(there)
    most = max(1, int(there.sum(1).max()))
    assert (rows is None) == (most > FULL * count)
    whole = torch.rand(seeds, count, 3, generator=draws) * there[..., None]
    together = packed(whole, rows)
    assert torch.equal(unpacked(together, rows), whole)
    if rows is not None:
        assert torch.equal(rows.filled.sum(1), most - there.sum(1))
        assert (together[rows.filled] == 0).all()
