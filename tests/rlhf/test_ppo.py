from __future__ import annotations

import math

import pytest
import torch

from corpus.errors import UnitError
from rlhf.history import History
from rlhf.lora import attach_adapter
from rlhf.policies import Policy
from rlhf.ppo import PPO, token_rewards
from rlhf.rollout import Rollout
from rlhf.settings import LoraSettings, TinySettings
from rlhf.tiny_policy import build_tiny
from tests.rlhf.toy import SMALL, chats, contexts, quiet, small_policy

METRICS = {
    "reward", "kl", "response_tokens", "entropy", "value_loss", "policy_loss", "clip_fraction",
}  # fmt: skip


def trainer(reward, policy: Policy | None = None, **changes) -> PPO:
    policy = policy or small_policy()
    torch.manual_seed(0)
    settings = SMALL.model_copy(update={"lora": LoraSettings(r=4, alpha=8), "lr": 5e-3, **changes})
    return PPO(policy, attach_adapter(policy.model, settings.lora), contexts(policy), reward, settings)


def no_reward(histories, replies):
    return [0.0] * len(replies)


def test_rewards_are_the_cost_of_diverging_at_each_token_and_the_score_at_the_last():
    mask = torch.tensor([[True, True, True], [True, False, False]])
    rollout = Rollout(torch.zeros(2, 5, dtype=torch.int64), torch.ones(2, 5, dtype=torch.int64), mask)
    divergence = torch.tensor([[1.0, -2.0, 0.0], [3.0, 9.0, 9.0]])
    found = token_rewards([10.0, 20.0], divergence, rollout, 0.5)
    assert found.tolist() == [[-0.5, 1.0, 10.0], [18.5, 0.0, 0.0]]


def test_a_step_reports_what_it_measured_and_starts_at_divergence_zero():
    history = History()
    seen: list[tuple[int, int]] = []
    ppo = trainer(lambda histories, replies: [float(len(reply)) for reply in replies])
    ppo.run(history, lambda done, total, text: seen.append((done, total)))
    table = history.table().to_pylist()
    assert {row["metric"] for row in table} == METRICS
    assert [row["step"] for row in table if row["metric"] == "kl"] == [1, 2] and seen == [(1, 2), (2, 2)]
    assert history.at(1)["kl"] == 0.0
    assert all(math.isfinite(row["value"]) for row in table)
    assert 1 <= history.at(2)["response_tokens"] <= SMALL.max_new_tokens


def test_the_reward_sees_the_history_of_each_reply():
    seen: list[str] = []

    def reward(histories, replies):
        seen.extend(histories)
        return no_reward(histories, replies)

    ppo = trainer(reward)
    for step in (1, 2, 3):
        ppo.step(step)
    # 12 contexts in three steps of 4: each once before any comes again.
    assert sorted(seen) == sorted(context.history for context in ppo.contexts)


def test_without_divergence_cost_the_policy_learns_to_say_what_is_rewarded():
    def reward(histories, replies):
        return [float(reply.startswith("w")) for reply in replies]

    size = TinySettings(hidden=64, layers=2, vocabulary=320, warmup_steps=60, warmup_batch=4)
    policy = build_tiny(chats(4), SMALL.model_copy(update={"tiny": size}), 3, History())
    ppo = trainer(reward, policy, kl_coefficient=0.0, batch=24, minibatch=12, lr_schedule="constant")
    steps = [ppo.step(number) for number in range(1, 41)]
    first, last = (sum(step["reward"] for step in part) / 5 for part in (steps[:5], steps[-5:]))
    assert first < 0.2 and last > 0.5
    assert steps[-1]["kl"] > 1.0


def test_with_a_huge_divergence_cost_the_policy_stays():
    def reward(histories, replies):
        return [float(reply.count("n")) for reply in replies]

    drift = {}
    for cost in (0.0, 100.0):
        ppo = trainer(reward, kl_coefficient=cost, batch=24, minibatch=24, lr=5e-3, lr_schedule="constant")
        drift[cost] = [ppo.step(number)["kl"] for number in range(1, 13)][-1]
    assert abs(drift[100.0]) < 0.1 * drift[0.0]


def test_equal_seeds_give_equal_weights_and_others_do_not():
    def weights(seed: int) -> list[torch.Tensor]:
        ppo = trainer(lambda histories, replies: [float(len(reply)) for reply in replies])
        torch.manual_seed(seed)
        ppo.run(History(), quiet)
        return [weight.detach().clone() for weight in ppo.actor.parameters() if weight.requires_grad]

    one, two, other = weights(1), weights(1), weights(2)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_the_frozen_weights_stay():
    policy = small_policy()
    before = {name: weight.clone() for name, weight in policy.model.state_dict().items()}
    ppo = trainer(lambda histories, replies: [float(len(reply)) for reply in replies], policy)
    ppo.run(History(), quiet)
    with_adapter = ppo.actor.model.state_dict()
    assert any("lora_B" in name and bool(weight.any()) for name, weight in with_adapter.items())
    after = ppo.actor.model.unload().state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


def test_the_learning_rate_falls_to_zero_or_stays():
    for schedule, expected in (("linear", [2.5e-3, 0.0]), ("constant", [5e-3, 5e-3])):
        ppo = trainer(no_reward, lr_schedule=schedule)
        rates = []
        for step in (1, 2):
            ppo.step(step)
            rates.append(ppo.optimizer.param_groups[0]["lr"])
        assert rates == expected


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_reward_that_is_no_finite_number_names_step_and_turn(bad):
    calls = []

    def reward(histories, replies):
        calls.append(1)
        return [0.0] * (len(replies) - 1) + [bad if len(calls) == 2 else 0.0]

    ppo = trainer(reward)
    ppo.step(1)
    with pytest.raises(UnitError, match=rf"PPO step 2: the reward model gave {bad} .* session 'chat-\d', turn \d"):
        ppo.step(2)


def test_a_loss_that_is_no_finite_number_names_the_step():
    ppo = trainer(no_reward)
    with torch.no_grad():
        ppo.actor.value_head.out.bias.fill_(math.nan)
    with pytest.raises(UnitError, match=r"PPO step 7: the loss is nan.*Lower align.lr"):
        ppo.step(7)
