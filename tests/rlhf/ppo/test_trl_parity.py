"""The same numbers as TRL 1.12.0's PPOTrainer, from its recorded rollouts of a tiny random model.

`record_trl_ppo.py` made the recording. TRL's trainer differs from ours in four places, which
docs/explanations/alignment.md explains. They are taken over here, so that everything else can be compared to 1e-4:
values come from a second model; a reply that ends early has one more state after its end mark, which gets the score and
a value; whitening divides by the unbiased variance; gradients are not clipped.
"""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification

from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.actor_critic import ActorCritic, ReplyStats
from apportion.rlhf.ppo.objective import estimate_advantages, policy_loss, token_rewards, value_loss, whiten
from apportion.rlhf.sampling.rollout import Rollout

RECORDED = Path(__file__).resolve().parent / "recorded" / "trl_1_12_0_ppo.safetensors"
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


class SeparateCritic(ActorCritic):
    """Values from a second whole model, as in TRL: a mode of this test alone."""

    def __init__(self, model, temperature: float, critic: LlamaForSequenceClassification) -> None:
        super().__init__(model, temperature)
        self.critic = critic

    def forward(self, rollout: Rollout) -> ReplyStats:
        logp, entropy, _ = self._read(rollout)
        positions = (rollout.attention.cumsum(dim=1) - 1).clamp(min=0)
        hidden = self.critic.model(
            input_ids=rollout.tokens, attention_mask=rollout.attention, position_ids=positions, use_cache=False
        ).last_hidden_state
        length = rollout.mask.shape[1]
        return ReplyStats(logp, entropy, self.critic.score(hidden).squeeze(-1)[:, -length - 1 : -1])


class Recording:
    def __init__(self) -> None:
        with safe_open(RECORDED, "pt") as file:
            self.note = json.loads(file.metadata()["record"])
            self.arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        self.ppo = self.note["ppo"]

    def part(self, prefix: str) -> dict[str, torch.Tensor]:
        return {name.removeprefix(prefix): value for name, value in self.arrays.items() if name.startswith(prefix)}

    def actor(self) -> SeparateCritic:
        policy = LlamaForCausalLM(LlamaConfig(**self.note["model"]))
        policy.load_state_dict(self.part("policy."))
        critic = LlamaForSequenceClassification(LlamaConfig(**self.note["model"], num_labels=1))
        critic.load_state_dict(self.part("value."))
        lora = self.note["lora"]
        model = attach_adapter(
            policy, LoraSettings(r=lora["r"], alpha=lora["lora_alpha"], dropout=0.0, targets=lora["target_modules"])
        )
        weights = dict(model.named_parameters())
        for name, value in self.part("adapter.").items():
            weights[name].data.copy_(value)
        return SeparateCritic(model, self.ppo["temperature"] + 1e-7, critic).eval()

    def rollout(self, update: str) -> Rollout:
        tokens = self.arrays[f"{update}query_responses"]
        mask = ~self.arrays[f"{update}padding_mask"]
        attention = torch.cat([tokens[:, : -mask.shape[1]] != 0, mask], dim=1).long()
        ends = torch.stack([torch.arange(len(mask)), self.arrays[f"{update}actual_end"]], dim=1)
        return Rollout(tokens, attention, mask, ends=ends)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording()


def test_the_recording_is_of_trl_1_12_and_holds_what_makes_a_comparison_worth_something(recording):
    assert recording.note["made_by"] == "TRL 1.12.0, PPOTrainer" and RECORDED.stat().st_size < 200_000
    second = recording.part("update2.")
    assert (second["logprobs"] - second["ref_logprobs"]).abs().max() > 0.1
    lengths = recording.rollout("update2.").lengths
    assert (lengths < 6).any() and (lengths == 6).any()
    last = recording.part("update2.minibatch5.")
    assert last["pg_loss"].abs() > 1e-3 and last["vf_loss"] > 1e-3


def test_rewards_advantages_losses_and_gradients_follow_trl_through_two_updates(recording):
    actor = recording.actor()
    trained = [weight for name, weight in actor.named_parameters() if weight.requires_grad and "value_head" not in name]
    optimizer = torch.optim.AdamW(trained, lr=1.0, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    for update in ("update1.", "update2."):
        for group in optimizer.param_groups:
            group["lr"] = float(recording.arrays[f"{update}lr"])
        check_replay(recording, actor, optimizer, update)


def check_replay(recording: Recording, actor: SeparateCritic, optimizer: torch.optim.Optimizer, update: str) -> None:
    seen, ppo = recording.part(update), recording.ppo
    rollout = recording.rollout(update)
    mask, mask_p1 = rollout.mask, ~seen["padding_mask_p1"]
    with torch.no_grad():
        now, reference = actor(rollout), actor.reference_logp(rollout)
    torch.testing.assert_close(now.logp[mask], seen["logprobs"][mask], **CLOSE)
    torch.testing.assert_close(reference[mask], seen["ref_logprobs"][mask], **CLOSE)
    torch.testing.assert_close(now.values[mask_p1], seen["values"][mask_p1], **CLOSE)

    divergence = (now.logp - reference) * mask
    rewards = token_rewards(seen["scores"].tolist(), divergence, rollout, ppo["kl_coef"])
    torch.testing.assert_close(rewards, seen["rewards"], **CLOSE)

    advantages, returns = estimate_advantages(rewards, now.values, mask_p1, ppo["gamma"], ppo["lam"])
    torch.testing.assert_close(returns[mask_p1], seen["returns"][mask_p1], **CLOSE)
    count = int(mask.sum())
    white = whiten(advantages, mask) * ((count - 1) / count) ** 0.5
    torch.testing.assert_close(white[mask], seen["advantages"][mask], **CLOSE)

    minibatches = sorted({name.split(".")[0] for name in seen if name.startswith("minibatch")})
    assert len(minibatches) == ppo["num_ppo_epochs"] * ppo["num_mini_batches"]
    for place in minibatches:
        recorded = recording.part(f"{update}{place}.")
        rows = recorded["micro_batch_inds"].long()
        stats = actor(rollout.rows(rows))
        policy, _ = policy_loss(stats.logp, now.logp[rows], white[rows], mask[rows], ppo["cliprange"])
        value = value_loss(stats.values, now.values[rows], returns[rows], mask_p1[rows], ppo["cliprange_value"])
        loss = policy + ppo["vf_coef"] * value
        for found, name in ((policy, "pg_loss"), (value, "vf_loss"), (loss, "loss")):
            torch.testing.assert_close(found.detach(), recorded[name], **CLOSE)
        optimizer.zero_grad()
        loss.backward()
        compare_gradients(actor, recording.part(f"{update}{place}.gradient."))
        optimizer.step()


def compare_gradients(actor: SeparateCritic, recorded: dict[str, torch.Tensor]) -> None:
    names = {f"model.{name.removeprefix('policy.')}" if name.startswith("policy.") else
             f"critic.{name.removeprefix('value_model.')}": name for name in recorded}  # fmt: skip
    weights = dict(actor.named_parameters())
    assert any("lora_A" in name for name in names) and any("score" in name for name in names)
    for ours, theirs in names.items():
        torch.testing.assert_close(weights[ours].grad, recorded[theirs], **CLOSE)


def test_a_reply_that_fills_its_length_needs_no_extra_state(recording):
    """There TRL's layout and ours are one: the score on the last token, equal masks."""
    seen, rollout = recording.part("update2."), recording.rollout("update2.")
    full = rollout.lengths == rollout.mask.shape[1]
    ours = Rollout(rollout.tokens[full], rollout.attention[full], rollout.mask[full])
    divergence = (seen["logprobs"] - seen["ref_logprobs"])[full]
    rewards = token_rewards(seen["scores"][full].tolist(), divergence, ours, recording.ppo["kl_coef"])
    torch.testing.assert_close(rewards, seen["rewards"][full], **CLOSE)
    assert torch.equal(~seen["padding_mask_p1"][full], ours.mask)
