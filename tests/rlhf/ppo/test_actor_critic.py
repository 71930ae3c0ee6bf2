from __future__ import annotations

import pytest
import torch

from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.sampling.rollout import sample_replies
from tests.rlhf.toy import contexts, dropping_policy, small_policy


def test_before_training_policy_and_reference_are_exactly_the_same_and_values_are_zero():
    policy = small_policy()
    actor = ActorCritic(attach_adapter(policy.model, LoraSettings(r=2, alpha=4)), temperature=0.7).eval()
    rollout = sample_replies(policy, actor.model, contexts(policy), max_new_tokens=8, temperature=0.7)
    stats = actor(rollout)
    assert torch.equal(stats.logp, actor.reference_logp(rollout))
    assert not stats.values.any()


def test_adapters_move_the_policy_and_not_the_reference():
    policy = small_policy()
    model = attach_adapter(policy.model, LoraSettings(r=2, alpha=4))
    actor = ActorCritic(model, temperature=1.0).eval()
    rollout = sample_replies(policy, model, contexts(policy), max_new_tokens=8, temperature=1.0)
    before = actor.reference_logp(rollout)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight)
    assert torch.equal(actor.reference_logp(rollout), before)
    assert not torch.allclose(actor(rollout).logp, before)


@pytest.mark.parametrize("made", [small_policy, dropping_policy])
def test_an_update_reads_the_policy_that_was_sampled_without_dropout(made):
    policy = made()
    model = attach_adapter(policy.model, LoraSettings(r=2, alpha=4, dropout=0.5))
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight)
    actor = ActorCritic(model, temperature=1.0)
    rollout = sample_replies(policy, model, contexts(policy), max_new_tokens=8, temperature=1.0)
    sampled = actor.eval()(rollout).logp
    assert torch.equal(actor.train()(rollout).logp, sampled)


def test_only_adapters_and_value_head_are_trained():
    actor = ActorCritic(attach_adapter(small_policy().model, LoraSettings(r=2, alpha=4)), temperature=1.0)
    trained = {name for name, weight in actor.named_parameters() if weight.requires_grad}
    assert trained and all("lora_" in name or name.startswith("value_head.") for name in trained)
