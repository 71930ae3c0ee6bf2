import math
import re

import pytest
import torch

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings, TinySettings
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.ppo.objective import token_rewards
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.sampling.rollout import sample_replies
from apportion.rlhf.settings import AlarmSettings
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.tiny_policy import build_tiny
from tests.rlhf.toy import SHAPES, SMALL, chats, contexts, layers_of, quiet, shaped_policy, small_policy

METRICS = {
    "reward", "kl", "response_tokens", "entropy", "repetition", "sameness", "value_loss", "policy_loss",
    "clip_fraction",
}  # fmt: skip


def trainer(reward, policy: Policy | None = None, **changes) -> PPO:
    policy = policy or small_policy()
    torch.manual_seed(0)
    settings = SMALL.model_copy(update={"lora": LoraSettings(r=4, alpha=8), "lr": 5e-3, **changes})
    return PPO(policy, attach_adapter(policy.model, settings.lora), contexts(policy), reward, settings)


def no_reward(contexts, histories, replies):
    return [0.0] * len(replies)


def test_a_step_reports_what_it_measured_and_starts_at_divergence_zero():
    history = Metrics()
    seen: list[tuple[int, int]] = []
    ppo = trainer(lambda contexts, histories, replies: [float(len(reply)) for reply in replies])
    ppo.run(Run(ppo.settings, 0, history, lambda done, total, text: seen.append((done, total))))
    table = history.table().to_pylist()
    assert {row["metric"] for row in table} == METRICS
    assert [row["step"] for row in table if row["metric"] == "kl"] == [1, 2] and seen == [(1, 2), (2, 2)]
    assert history.at(1)["kl"] == 0.0
    assert all(math.isfinite(row["value"]) for row in table)
    assert 1 <= history.at(2)["response_tokens"] <= SMALL.max_new_tokens


def test_the_reward_sees_the_history_of_each_reply():
    seen: list[str] = []

    def reward(contexts, histories, replies):
        assert [context.history for context in contexts] == list(histories)
        seen.extend(histories)
        return no_reward(contexts, histories, replies)

    ppo = trainer(reward)
    for step in (1, 2, 3):
        ppo.step(step)
    # 12 contexts in three steps of 4: each once before any comes again.
    assert sorted(seen) == sorted(context.history for context in ppo.contexts)


@pytest.mark.slow
def test_without_divergence_cost_the_policy_learns_to_say_what_is_rewarded():
    def reward(contexts, histories, replies):
        return [float(reply.startswith("w")) for reply in replies]

    size = TinySettings(hidden=64, layers=2, vocabulary=320, warmup_steps=60, warmup_batch=4)
    policy = build_tiny(chats(4), SMALL.model_copy(update={"tiny": size}), 3)
    ppo = trainer(reward, policy, beta=0.0, batch_size=24, mini_batch_size=12, lr_schedule="constant")
    steps = [ppo.step(number) for number in range(1, 41)]
    first, last = (sum(step["reward"] for step in part) / 5 for part in (steps[:5], steps[-5:]))
    assert first < 0.2 and last > 0.5
    assert steps[-1]["kl"] > 1.0


@pytest.mark.slow
def test_with_a_huge_divergence_cost_the_policy_stays():
    def reward(contexts, histories, replies):
        return [float(reply.count("n")) for reply in replies]

    drift = {}
    for cost in (0.0, 100.0):
        ppo = trainer(reward, beta=cost, batch_size=24, mini_batch_size=24, lr=5e-3, lr_schedule="constant")
        drift[cost] = [ppo.step(number)["kl"] for number in range(1, 13)][-1]
    assert abs(drift[100.0]) < 0.1 * drift[0.0]


def test_probabilities_that_are_no_numbers_are_told():
    ppo = trainer(no_reward)
    torch.nn.init.constant_(ppo.actor.model.get_input_embeddings().weight, math.nan)
    with pytest.raises(UnitError, match=r"no finite numbers, so no reply can be drawn: .* Lower lr"):
        ppo.step(1)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_reward_that_is_no_finite_number_names_step_and_turn(bad):
    calls = []

    def reward(contexts, histories, replies):
        calls.append(1)
        return [0.0] * (len(replies) - 1) + [bad if len(calls) == 2 else 0.0]

    ppo = trainer(reward)
    ppo.step(1)
    with pytest.raises(UnitError, match=rf"PPO step 2: the reward model gave {bad} .* session 'chat-\d', turn \d"):
        ppo.step(2)


def by_length(contexts, histories, replies):
    return [float(len(reply)) for reply in replies]


def test_scores_are_clipped_after_they_are_normalised(monkeypatch):
    seen: list[list[float]] = []

    def spy(scores, *rest):
        seen.append(list(scores))
        return token_rewards(scores, *rest)

    monkeypatch.setattr("apportion.rlhf.ppo.ppo.token_rewards", spy)
    trainer(lambda contexts, histories, replies: [0.0, 0.0, 0.0, 100.0], reward_clip=1.0).step(1)
    assert seen == [pytest.approx([-(3**-0.5)] * 3 + [1.0])]
    metrics = trainer(
        lambda contexts, histories, replies: [0.0, 1.0, -9.0, 9.0], reward_clip=2.0, score_norm=False
    ).step(1)
    assert seen[1] == [0.0, 1.0, -2.0, 2.0] and metrics["reward"] == 0.25


def test_the_adaptive_weight_is_told_and_moves():
    ppo = trainer(no_reward, kl_controller="adaptive", kl_target=5.0, kl_horizon=8, beta=0.5)
    assert [ppo.step(number)["beta"] for number in (1, 2)] == [0.5, pytest.approx(0.5 * (1 - 0.2 * 4 / 8))]


def test_gamed_rewards_stop_the_run_with_the_reason():
    history = Metrics()
    ppo = trainer(by_length, alarms=AlarmSettings(max_kl=1e-6, patience=2), steps=9, lr_schedule="constant")
    with pytest.raises(UnitError, match=r"PPO step \d: stopped, the policy games its reward. KL blow-up: ") as told:
        ppo.run(Run(ppo.settings, 0, history, quiet))
    assert "Raise beta (now 0.3), lower lr (now 0.005)" in str(told.value)
    assert len([row for row in history.table().to_pylist() if row["metric"] == "kl"]) < 9


def test_the_live_line_tells_all_that_a_person_watches():
    lines: list[str] = []
    seen: list[int] = []
    watch = [lambda step, metrics: seen.append(step)]
    ppo = trainer(by_length)
    ppo.run(Run(ppo.settings, 0, Metrics(), lambda done, total, text: lines.append(text), watch=tuple(watch)))
    number = r"-?\d+\.\d+"
    assert re.fullmatch(
        rf"PPO step 1: reward {number}, KL {number}, {number} tokens, entropy {number}, value loss {number}, "
        rf"clipped \d+%, {number} samples/s",
        lines[0],
    )
    assert seen == [1, 2]


@pytest.mark.parametrize("kind", SHAPES)
def test_before_training_policy_and_reference_are_exactly_the_same_and_values_are_zero(kind):
    policy = shaped_policy(kind)
    adapters = LoraSettings(r=2, alpha=4, targets=layers_of(kind))
    actor = ActorCritic(attach_adapter(policy.model, adapters), temperature=0.7).eval()
    rollout = sample_replies(policy, actor.model, contexts(policy), max_new_tokens=8, temperature=0.7)
    stats = actor(rollout)
    assert torch.equal(stats.logp, actor.reference_logp(rollout))
    assert not stats.values.any()


def test_only_adapters_and_value_head_are_trained():
    actor = ActorCritic(attach_adapter(small_policy().model, LoraSettings(r=2, alpha=4)), temperature=1.0)
    trained = {name for name, weight in actor.named_parameters() if weight.requires_grad}
    assert trained and all("lora_" in name or name.startswith("value_head.") for name in trained)
