import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.sampling.rollout import Rollout, join_rollouts, pad_prompts, reply_mask, sample_replies
from tests.rlhf.toy import contexts, small_policy


@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=5))
def test_a_reply_lasts_up_to_and_with_its_first_end_mark(rows):
    found = reply_mask(torch.tensor(rows), (2, 3)).tolist()
    for row, mask in zip(rows, found, strict=True):
        ends = [i for i, token in enumerate(row) if token in (2, 3)]
        length = ends[0] + 1 if ends else len(row)
        assert mask == [True] * length + [False] * (len(row) - length)


def test_prompts_are_padded_on_the_left():
    policy = small_policy()
    some = contexts(policy)[:3]
    prompts, attention = pad_prompts(some, policy.pad_id)
    for row, seen, context in zip(prompts.tolist(), attention.tolist(), some, strict=True):
        gap = len(row) - len(context.prompt)
        assert row == [policy.pad_id] * gap + list(context.prompt)
        assert seen == [0] * gap + [1] * len(context.prompt)


@pytest.fixture
def sampled():
    policy = small_policy()
    model = attach_adapter(policy.model, LoraSettings(r=2, alpha=4))
    torch.manual_seed(0)
    some = contexts(policy)
    rollout = sample_replies(policy, model, some, max_new_tokens=12, temperature=1.5)
    return policy, model, some, rollout


def test_replies_follow_their_prompts_and_end_where_the_mask_does(sampled):
    policy, _, some, rollout = sampled
    prompts, attention = pad_prompts(some, policy.pad_id)
    assert torch.equal(rollout.tokens[:, : prompts.shape[1]], prompts)
    assert torch.equal(rollout.attention, torch.cat([attention, rollout.mask.long()], dim=1))
    assert torch.equal(rollout.mask, reply_mask(rollout.replies, policy.eos_ids))
    assert rollout.lengths.tolist() == rollout.mask.sum(1).tolist() and len(rollout.texts) == len(some)
    assert not any("<|" in text for text in rollout.texts)


def test_log_probabilities_do_not_depend_on_padding(sampled):
    _, model, _, rollout = sampled
    actor = ActorCritic(model, temperature=1.5).eval()
    together = actor(rollout)
    for row in range(4):
        own = rollout.attention[row].bool()
        length = int(rollout.lengths[row])
        alone = Rollout(rollout.tokens[row][own][None], torch.ones(1, int(own.sum()), dtype=torch.int64),
                        torch.ones(1, length, dtype=torch.bool))  # fmt: skip
        single = actor(alone)
        torch.testing.assert_close(together.logp[row, :length], single.logp[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(together.entropy[row, :length], single.entropy[0], rtol=1e-4, atol=1e-5)


def test_log_probabilities_are_those_of_the_whole_softmax_at_the_sampling_temperature(sampled):
    _, model, _, rollout = sampled
    stats = ActorCritic(model, temperature=1.5).eval()(rollout)
    row = 1
    own = rollout.attention[row].bool()
    logits = model(input_ids=rollout.tokens[row][own][None]).logits[0] / 1.5
    length = int(rollout.lengths[row])
    expected = torch.log_softmax(logits, -1)[-length - 1 : -1]
    said = rollout.replies[row, :length]
    torch.testing.assert_close(stats.logp[row, :length], expected[torch.arange(length), said], rtol=1e-4, atol=1e-5)


def test_the_most_likely_reply_is_the_same_each_time(sampled):
    policy, model, some, _ = sampled
    one, two = (sample_replies(policy, model, some, max_new_tokens=5, temperature=None) for _ in range(2))
    assert torch.equal(one.tokens, two.tokens)


def test_rollouts_are_joined_row_by_row_with_one_padding():
    one = Rollout(torch.tensor([[5, 6, 7]]), torch.tensor([[1, 1, 1]]), torch.tensor([[True]]), ("a",), ("x",))
    two = Rollout(
        torch.tensor([[0, 3, 4, 9, 8], [2, 3, 4, 9, 1]]), torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 1]]),
        torch.tensor([[True, True, False, True], [True, True, True, True]]), ("b", "c", "d"), ("y", "z", "w"),
        ends=torch.tensor([[0, 0], [0, 3], [1, 3]]),
    )  # fmt: skip
    joined = join_rollouts([one, two], pad_id=0)
    assert joined.tokens.tolist() == [[5, 6, 7, 0, 0, 0], [0, 0, 3, 4, 9, 8], [0, 2, 3, 4, 9, 1]]
    assert joined.attention.tolist() == [[1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]]
    assert joined.mask[0].tolist() == [True, False, False, False] and torch.equal(joined.mask[1:], two.mask)
    assert joined.turn_ends.tolist() == [[0, 0], [1, 0], [1, 3], [2, 3]]
    assert joined.texts == ("a", "b", "c", "d") and joined.histories == ("x", "y", "z", "w")
    assert torch.equal(joined.to(torch.device("cpu")).replies, joined.replies)
