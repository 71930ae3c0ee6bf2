"""verl's reward function and advantages by turn, called as verl calls them; verl itself: `contracts/test_verl.py`."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.rlhf.adapters.verl import compute_score, turn_credit
from tests.rlhf.adapters.recorded import PROMPT, write


def test_an_answer_is_paid_in_its_conversation(tmp_path: Path) -> None:
    source, extra = write(tmp_path), {"prompt": np.array(PROMPT, dtype=object), "num_turns": None}
    assert compute_score("apportion", "no", "", extra, source=source, reward_router_address=None) == {"score": -1.0}
    with pytest.raises(InputError, match=r"data source 'gsm8k': a row without extra_info\.prompt.*--for verl"):
        compute_score("gsm8k", "no", "", source=source)


def test_turns_are_compared_with_the_others_of_their_prompt() -> None:
    paid = torch.tensor([[0, 1, 0, 0.5], [-1, 0, 2, 0], [9, 0, 0, 0]])
    mask = torch.tensor([[1, 1, 0, 1], [1, 0, 1, 0], [1, 1, 1, 0]])
    advantages, returns = turn_credit(paid, mask, np.array(["a", "a", "b"], dtype=object))
    assert advantages.tolist() == [[0.5, 0.5, 0, -1.5], [-0.5, 0, 1.5, 0], [0, 0, 0, 0]] and returns is advantages
    own, _ = turn_credit(paid, mask, ["a", "a", "b"], config={"gamma": 0.0})
    assert own.tolist() == [[2, 2, 0, -1.5], [-2, 0, 1.5, 0], [0, 0, 0, 0]]


def test_rollouts_that_are_all_alone_are_told() -> None:
    with pytest.raises(InputError, match=r"one rollout, to compare with nothing\. Set .*rollout\.n to 2\+"):
        turn_credit(torch.ones(2, 3), torch.ones(2, 3), ["a", "b"])


@given(st.integers(2, 5), st.integers(1, 12), st.integers(0, 10_000))
def test_of_one_turn_each_it_is_the_advantage_of_rloo_and_nothing_lies_elsewhere(
    group: int, room: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    mask = torch.from_numpy((np.arange(room) < rng.integers(1, room + 1, (group, 1))).astype(int))
    paid = torch.from_numpy(rng.normal(size=(group, room))) * mask
    advantages, _ = turn_credit(paid, mask, ["a"] * group)
    whole = paid.sum(dim=1, keepdim=True)
    torch.testing.assert_close(advantages, (whole - (whole.sum() - whole) / (group - 1)) * mask)
