from __future__ import annotations

import pytest
from hypothesis import given

from apportion.environments.negotiation.action_encoding import (
    ACTS,
    SPLIT_OF,
    SPLITS,
    CodeError,
    act_code,
    act_of,
    rest,
    split_code,
    splits_of,
)
from apportion.environments.negotiation.contexts import Context
from tests.environments.negotiation.strategies import CONTEXTS


def test_every_act_has_a_number_of_its_own() -> None:
    acts = [act_of(code) for code in range(ACTS)]
    assert [act_code(kind, split) for kind, split in acts] == list(range(ACTS))
    assert len(set(acts)) == ACTS == 253
    assert [split_code(split) for split in SPLIT_OF] == list(range(SPLITS))


@given(CONTEXTS)
def test_a_split_and_its_rest_are_the_pool(context: Context) -> None:
    splits = splits_of(context.counts)
    a, b, c = context.counts
    assert len(splits) == (a + 1) * (b + 1) * (c + 1)
    for code in splits:
        left = SPLIT_OF[rest(context.counts, code)]
        assert tuple(k + n for k, n in zip(SPLIT_OF[code], left, strict=True)) == context.counts


@pytest.mark.parametrize("split", [(1, 2), (5, 0, 0), (-1, 0, 0), (0.5, 0, 0)])
def test_what_is_no_split_has_no_number(split: tuple[int, int, int]) -> None:
    with pytest.raises(CodeError, match="each 0 to 4"):
        split_code(split)


def test_what_is_no_act_has_no_number() -> None:
    with pytest.raises(CodeError, match="no act 'propos'; did you mean 'propose'"):
        act_code("propos", (0, 0, 0))
    with pytest.raises(CodeError, match="insist with split None"):
        act_code("insist")
    with pytest.raises(CodeError, match="end with split"):
        act_code("end", (0, 0, 0))
    for code in (-1, ACTS):
        with pytest.raises(CodeError, match=f"no act {code}"):
            act_of(code)
