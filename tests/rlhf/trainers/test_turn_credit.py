"""Credit by turn in TRL's own GRPO: the same at weight 0, and from equal samples it learns more than from the end."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, LlamaConfig
from trl import GRPOConfig, GRPOTrainer

from apportion.foundation.errors import InputError
from apportion.reward_model.trl_reward import TurnRewards
from apportion.rlhf.trainers.turn_credit import TurnCreditGRPOTrainer
from tests.reward_model.tiny import SIZES, tokenizer

TURNS, GOOD, HEARD = 6, 7, 5


def rollouts(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    """Each turn is one token of the policy, and one of the other side's after it."""
    model, device = trainer.model, trainer.accelerator.device
    asked = torch.tensor([[3]] * len(prompts), device=device)
    tokens, logps = asked, []
    with torch.no_grad():
        for _ in range(TURNS):
            odds = torch.log_softmax(model(input_ids=tokens).logits[:, -1], dim=-1)
            said = torch.multinomial(odds.exp(), 1)
            logps += [odds.gather(1, said), torch.zeros_like(odds[:, :1])]
            tokens = torch.cat([tokens, said, torch.full_like(said, HEARD)], dim=1)
    return {
        "prompt_ids": asked.tolist(),
        "completion_ids": tokens[:, 1:].tolist(),
        "logprobs": torch.cat(logps, dim=1).tolist(),
        "env_mask": [[1, 0] * TURNS] * len(prompts),
    }


def right(completion_ids: list[list[int]]) -> list[list[float]]:
    """Each turn has a right token of its own."""
    return [[float(ids[2 * turn] == GOOD + turn) for turn in range(TURNS)] for ids in completion_ids]


def noisy(completion_ids: list[list[int]]) -> list[list[float]]:
    """What is paid for the turns, in which much is chance."""
    return (np.array(right(completion_ids)) + torch.randn(len(completion_ids), TURNS).numpy()).tolist()


def by_turn(completion_ids: list[list[int]], **others: Any) -> list[TurnRewards]:
    return [TurnRewards(tuple(of), tuple(range(TURNS))) for of in noisy(completion_ids)]


def at_the_end(completion_ids: list[list[int]], **others: Any) -> list[float]:
    return [sum(of) for of in noisy(completion_ids)]


def nothing(completion_ids: list[list[int]], **others: Any) -> list[float]:
    return [0.0] * len(completion_ids)


def trained(tmp_path: Path, kind: Any, reward: Any, steps: int, seed: int = 0, **more: Any) -> tuple[Any, list[float]]:
    torch.manual_seed(seed)
    policy = AutoModelForCausalLM.from_config(
        LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, **SIZES)
    )
    seen: list[float] = []

    def watched(completion_ids: list[list[int]], **others: Any) -> list[float]:
        seen.append(float(np.mean(right(completion_ids))))
        return [0.0] * len(completion_ids)

    how = GRPOConfig(
        output_dir=str(tmp_path), max_steps=steps, per_device_train_batch_size=8, num_generations=8, learning_rate=3e-2,
        max_completion_length=2 * TURNS, scale_rewards="none", report_to=[], use_cpu=True, save_strategy="no",
        disable_tqdm=True, seed=seed, lr_scheduler_type="constant", beta=0.0, logging_steps=1000,
    )  # fmt: skip
    trainer = kind(
        model=policy, reward_funcs=[reward, watched], args=how, processing_class=tokenizer(special=False),
        train_dataset=Dataset.from_dict({"prompt": ["hotel ?"] * 8}), rollout_func=rollouts, **more,
    )  # fmt: skip
    trainer.train()
    return policy, seen


@pytest.mark.slow
def test_credit_by_turn_learns_more_than_the_reward_at_the_end_from_as_many_rollouts(tmp_path: Path) -> None:
    more = []
    for seed in (0, 1):
        _, by_end = trained(tmp_path, GRPOTrainer, at_the_end, 60, seed)
        _, by_turns = trained(tmp_path, TurnCreditGRPOTrainer, nothing, 60, seed, turn_rewards=by_turn, turn_gamma=0.0)
        more.append(np.mean(by_turns[-10:]) - np.mean(by_end[-10:]))
    assert min(more) > 0.05 and np.mean(more) > 0.1


def test_zero_turn_weight_is_bit_equal_to_trl(tmp_path: Path) -> None:
    theirs, _ = trained(tmp_path, GRPOTrainer, at_the_end, 3)
    ours, _ = trained(tmp_path, TurnCreditGRPOTrainer, at_the_end, 3, turn_rewards=by_turn, turn_weight=0.0)
    assert all(torch.equal(a, b) for a, b in zip(theirs.parameters(), ours.parameters(), strict=True))


def test_one_turn_a_rollout_is_trls_advantage_but_for_the_baseline(tmp_path: Path) -> None:
    """Theirs has the rollout itself in its mean, which makes it smaller by (G - 1) / G."""

    def whole(completion_ids: list[list[int]], **others: Any) -> list[float]:
        return [8 / 7 * sum(of) for of in right(completion_ids)]

    def one_turn(completion_ids: list[list[int]], **others: Any) -> list[TurnRewards]:
        return [TurnRewards((sum(of),), (0,) * TURNS) for of in right(completion_ids)]

    theirs, _ = trained(tmp_path, GRPOTrainer, whole, 3)
    ours, _ = trained(tmp_path, TurnCreditGRPOTrainer, nothing, 3, turn_rewards=one_turn)
    start, _ = trained(tmp_path, GRPOTrainer, nothing, 1)
    for a, b in zip(theirs.parameters(), ours.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    assert any(not torch.allclose(a, b, atol=1e-3) for a, b in zip(start.parameters(), ours.parameters(), strict=True))


def test_a_loss_of_whole_sequences_has_no_credit_by_turn() -> None:
    class Sequences(TurnCreditGRPOTrainer):  # What TRL would read of its arguments.
        importance_sampling_level = "sequence"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GRPOTrainer, "__init__", lambda self, **given: None)
        with pytest.raises(InputError, match=r"importance_sampling_level = 'sequence'.* Set it to 'token'"):
            Sequences(turn_rewards=by_turn)
