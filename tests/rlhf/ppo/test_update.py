from __future__ import annotations

import math

import pytest
import torch

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.sampling.partner import RecordedPartner
from tests.rlhf.ppo.test_ppo import by_length, no_reward, trainer
from tests.rlhf.toy import SMALL, chats, contexts, dropping_policy, no_history, small_policy


def test_the_learning_rate_falls_to_zero_or_stays():
    for schedule, expected in (("linear", [2.5e-3, 0.0]), ("constant", [5e-3, 5e-3])):
        ppo = trainer(no_reward, lr_schedule=schedule)
        rates = []
        for step in (1, 2):
            ppo.step(step)
            rates.append(ppo.update.optimizer.param_groups[0]["lr"])
        assert rates == expected


def test_a_loss_that_is_no_finite_number_names_the_step():
    ppo = trainer(no_reward)
    with torch.no_grad():
        ppo.actor.value_head.out.bias.fill_(math.nan)
    with pytest.raises(UnitError, match=r"PPO step 7: the loss is nan.*Lower lr"):
        ppo.step(7)


def updated(seed: int = 0, **changes) -> list[torch.Tensor]:
    """The trained weights after one step without dropout."""
    policy = small_policy()
    torch.manual_seed(0)
    settings = SMALL.model_copy(
        update={
            "lora": LoraSettings(r=4, alpha=8, dropout=0.0),
            "lr": 5e-3,
            "batch_size": 8,
            "mini_batch_size": 8,
            **changes,
        }
    )
    ppo = PPO(policy, attach_adapter(policy.model, settings.lora), contexts(policy), by_length, settings)
    torch.manual_seed(seed)
    ppo.step(1)
    return [weight.detach().clone() for weight in ppo.update.trained]


SAVERS = [{"micro_batch_size": 3}, {"gradient_checkpointing": True}, {"group_by_length": True}]


@pytest.mark.parametrize("saver", SAVERS, ids=lambda saver: next(iter(saver)))
def test_what_saves_memory_changes_nothing_but_rounding(saver):
    plain, saved = updated(), updated(**saver)
    start = updated(lr=1e-30)
    assert any(bool((one - other).abs().max() > 1e-3) for one, other in zip(plain, start, strict=True))
    for one, other in zip(plain, saved, strict=True):
        # Adam takes the sign of tiny gradients: rounding may turn a few of them.
        assert float(((one - other).abs() > 1e-4).float().mean()) < 0.02


def test_checkpointing_is_on_where_it_is_asked_for():
    assert trainer(by_length, gradient_checkpointing=True).actor.model.get_base_model().is_gradient_checkpointing


WAYS = [{}, {"micro_batch_size": 1}, {"gradient_checkpointing": True}, {"group_by_length": True}, {"max_turns": 2}]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_before_any_update_no_token_leaves_the_clip_range(way):
    policy = dropping_policy()
    settings = SMALL.model_copy(
        update={"lora": LoraSettings(r=4, alpha=8, dropout=0.5), "lr": 1e-30, "clip": 1e-3, "target_kl": 1.0, **way}
    )
    torch.manual_seed(0)
    model = attach_adapter(policy.model, settings.lora)
    # Adapters that change something: what they drop would show.
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.3)
    partner = RecordedPartner(chats(4), no_history)
    ppo = PPO(policy, model, contexts(policy), by_length, settings, partner if settings.max_turns > 1 else None)
    measured = ppo.step(1)
    assert measured["updates"] == 4 and measured["kl"] != 0.0
    assert measured["clip_fraction"] == 0.0 and measured["sampled_kl"] < 1e-9


def test_updates_end_early_where_the_policy_has_moved_far():
    metrics = trainer(by_length, target_kl=1e-9, ppo_epochs=5).step(1)
    assert metrics["updates"] < 10 and metrics["sampled_kl"] > 0
    far = trainer(by_length, target_kl=1e9, ppo_epochs=5).step(1)
    assert far["updates"] == 10
    assert "updates" not in trainer(by_length).step(1)


def test_the_pretraining_term_holds_the_policy_at_what_people_said():
    said = [torch.tensor(context.prompt) for context in contexts(small_policy())]

    def loss(coefficient: float) -> float:
        policy = small_policy()
        torch.manual_seed(0)
        settings = SMALL.model_copy(
            update={"lora": LoraSettings(r=4, alpha=8), "lr": 1e-2, "pretrain_coefficient": coefficient, "steps": 20}
        )
        model = attach_adapter(policy.model, settings.lora)
        ppo = PPO(policy, model, contexts(policy), no_reward, settings, dialogues=said)
        for step in range(1, 11):
            metrics = ppo.step(step)
        assert ("pretrain_loss" in metrics) == bool(coefficient)
        ppo.actor.eval()
        return sum(ppo.actor.likelihood_loss(one[None], torch.ones_like(one)[None]).item() for one in said) / len(said)

    assert loss(1.0) < loss(0.0) - 0.2


def test_a_gradient_that_is_no_finite_number_is_not_followed():
    ppo = trainer(by_length)
    weight = ppo.update.trained[0]
    weight.register_hook(lambda gradient: gradient * math.nan)
    before = weight.detach().clone()
    with pytest.raises(UnitError, match=r"PPO step 3: the gradient's norm is nan.*Lower lr"):
        ppo.step(3)
    assert torch.equal(weight, before)
