from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from apportion.rlhf.ppo.experience import Experience, micro_batches, minibatches
from apportion.rlhf.sampling.rollout import Rollout
from tests.rlhf.toy import SMALL


def rollout(lengths: list[tuple[int, int]]) -> Rollout:
    """Prompts and replies of the given lengths, tokens counted up from 1, 0 as padding."""
    prompt, reply = (max(length[part] for length in lengths) for part in (0, 1))
    tokens = torch.zeros(len(lengths), prompt + reply, dtype=torch.int64)
    for row, (before, after) in enumerate(lengths):
        tokens[row, prompt - before : prompt + after] = torch.arange(1, before + after + 1)
    mask = torch.tensor([[column < after for column in range(reply)] for _, after in lengths])
    return Rollout(tokens, (tokens != 0).long(), mask)


LENGTHS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=9)


@given(LENGTHS, st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_every_response_comes_once_a_pass_whatever_the_sizes(lengths, minibatch, micro, buckets):
    made, size = rollout(lengths), min(minibatch, len(lengths))
    settings = SMALL.model_copy(
        update={
            "batch_size": len(lengths),
            "mini_batch_size": size,
            "micro_batch_size": micro,
            "group_by_length": buckets,
        }
    )
    parts = [part for rows in minibatches(made, settings) for part in micro_batches(made, rows, settings)]
    assert sorted(torch.cat(parts).tolist()) == list(range(len(lengths)))
    assert all(len(part) <= min(micro, size) for part in parts)


def test_buckets_hold_responses_of_like_length():
    made = rollout([(1, 1), (5, 4), (1, 2), (4, 4), (1, 1), (5, 5)])
    settings = SMALL.model_copy(update={"batch_size": 6, "mini_batch_size": 3, "group_by_length": True})
    found = {frozenset(rows.tolist()) for rows in minibatches(made, settings)}
    assert found == {frozenset({0, 2, 4}), frozenset({1, 3, 5})}


@given(LENGTHS, st.data())
def test_cutting_drops_padding_alone(lengths, data):
    made = rollout(lengths)
    chosen = torch.tensor(data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=4)))
    whole, cut = made.rows(chosen), made.rows(chosen, cut=True)
    for row in range(len(chosen)):
        assert (
            whole.tokens[row][whole.attention[row] == 1].tolist() == cut.tokens[row][cut.attention[row] == 1].tolist()
        )
        assert whole.replies[row][whole.mask[row]].tolist() == cut.replies[row][cut.mask[row]].tolist()
    longest = [max(lengths[index][part] for index in chosen.tolist()) for part in (0, 1)]
    assert [cut.tokens.shape[1] - cut.mask.shape[1], cut.mask.shape[1]] == longest
    numbers = torch.rand(made.mask.shape)
    experience = Experience(made, numbers, numbers, numbers, numbers).rows(chosen, cut=True)
    assert experience.logp.shape == cut.mask.shape and torch.equal(experience.returns, numbers[chosen, : longest[1]])
