import math
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import get_scheduler

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.ppo.update import Experience, micro_batches, minibatches, share_of_lr
from apportion.rlhf.sampling.partner import RecordedPartner
from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.settings import AlignSettings
from tests.rlhf.ppo.test_ppo import by_length, no_reward, trainer
from tests.rlhf.toy import SHAPES, SMALL, chats, contexts, layers_of, no_history, shaped_policy, small_policy


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


@cache
def updated(**changes) -> list[torch.Tensor]:
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
    torch.manual_seed(0)
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


WAYS = [{}, {"micro_batch_size": 1}, {"gradient_checkpointing": True}, {"group_by_length": True}, {"max_turns": 2}]


@pytest.mark.parametrize(
    ("kind", "way"), [*(("opt", way) for way in WAYS), *((kind, {}) for kind in SHAPES if kind != "opt")], ids=str
)
def test_before_any_update_no_token_leaves_the_clip_range(kind, way):
    policy = shaped_policy(kind)
    lora = LoraSettings(r=4, alpha=8, dropout=0.5, targets=layers_of(kind))
    settings = SMALL.model_copy(update={"lora": lora, "lr": 1e-30, "clip": 1e-3, "target_kl": 1.0, **way})
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
            update={"lora": LoraSettings(r=4, alpha=8), "lr": 2e-2, "pretrain_coefficient": coefficient, "steps": 20}
        )
        model = attach_adapter(policy.model, settings.lora)
        ppo = PPO(policy, model, contexts(policy), no_reward, settings, dialogues=said)
        for step in range(1, 6):
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


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("warmup", [None, 4])
def test_it_rises_and_falls_as_that_of_the_trainers(schedule, warmup):
    settings = AlignSettings(steps=12, lr_schedule=schedule, warmup=warmup)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    name = "constant_with_warmup" if schedule == "constant" else schedule
    theirs = get_scheduler(name, optimizer, num_warmup_steps=warmup or 0, num_training_steps=12)
    for done in range(13):
        assert share_of_lr(settings, done) == pytest.approx(theirs.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        theirs.step()


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
