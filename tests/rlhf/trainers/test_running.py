import math
from types import SimpleNamespace

import pytest
from trl import GRPOConfig, RLOOConfig

from apportion.foundation.errors import UnitError
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.trainers.running import (
    StepCallback,
    group_arguments,
    on_one_device,
    supervised_arguments,
    updates_a_step,
)
from apportion.rlhf.training.job import Run
from tests.rlhf.toy import SMALL


def settings(**values) -> AlignSettings:
    return AlignSettings.model_validate({"algorithm": "grpo", "num_generations": 4, **values})


@pytest.mark.parametrize(("algorithm", "beta"), [("grpo", 0.0), ("grpo", 0.3), ("rloo", 0.3)])
def test_a_step_is_one_batch_of_replies_and_all_updates_from_it(tmp_path, algorithm, beta):
    sizes = {"batch_size": 24, "mini_batch_size": 12, "micro_batch_size": 3}
    # GRPO's divergence is in its loss where it is as published, else in the reward, where TRL has no part in it.
    chosen = settings(algorithm=algorithm, steps=5, **sizes, ppo_epochs=2, scale_rewards=beta > 0)
    config = GRPOConfig if algorithm == "grpo" else RLOOConfig
    found = group_arguments(config, Run(chosen, 7), tmp_path)
    assert updates_a_step(chosen) == 4 and found.max_steps == 20
    assert found.per_device_train_batch_size * found.gradient_accumulation_steps == 12
    assert found.generation_batch_size == 24 and (found.num_generations, found.num_iterations) == (4, 2)
    assert (found.beta, found.epsilon, found.temperature) == (beta, 0.2, 0.7)
    assert algorithm == "rloo" or found.scale_rewards == ("group" if beta else "none")
    # RLOO in an environment has GRPO's trainer, and is not scaled whatever is set.
    live = group_arguments(GRPOConfig, Run(settings(algorithm="rloo", **sizes, scale_rewards=True), 7), tmp_path)
    assert (live.scale_rewards, live.beta) == ("none", 0.0)
    assert found.logging_steps == 4 and found.save_strategy.value == "no" and found.seed == 7
    # Nothing leaves the machine and nothing is printed.
    assert not found.report_to and found.disable_tqdm and not found.push_to_hub and not found.bf16


@pytest.mark.parametrize(
    ("chosen", "schedule"),
    [
        ({}, ("linear", 0)),
        ({"lr_schedule": "cosine", "warmup": 3}, ("cosine", 3)),
        ({"lr_schedule": "constant"}, ("constant", 0)),
        # TRL's constant schedule has no rise.
        ({"lr_schedule": "constant", "warmup": 3}, ("constant_with_warmup", 3)),
    ],
)
def test_the_learning_rate_s_rise_and_fall_are_handed_on(tmp_path, chosen, schedule):
    found = group_arguments(GRPOConfig, Run(settings(**chosen), 0), tmp_path)
    assert (found.lr_scheduler_type.value, found.warmup_steps) == schedule


def test_generation_by_vllm_is_handed_on(tmp_path):
    named = {"policy": "some/model", "device": "cuda"}
    found = group_arguments(GRPOConfig, Run(settings(**named, generation="vllm"), 0), tmp_path)
    # An engine in each process, for its own replies.
    assert found.use_vllm and (found.vllm_mode, found.vllm_tensor_parallel_size) == ("colocate", 1)
    assert not group_arguments(GRPOConfig, Run(settings(**named), 0), tmp_path).use_vllm


def test_a_supervised_step_is_one_update_and_is_saved_where_a_killed_run_can_go_on(tmp_path):
    chosen = settings(algorithm="sft", steps=5, batch_size=12, mini_batch_size=6)
    found = supervised_arguments(Run(chosen, 0, checkpoints=tmp_path), tmp_path)
    assert (found.max_steps, found.per_device_train_batch_size, found.gradient_accumulation_steps) == (5, 6, 2)
    assert found.save_strategy.value == "steps" and found.save_steps == 1


def test_processes_take_equal_parts_of_every_update(tmp_path):
    chosen = settings(batch_size=24, mini_batch_size=12, micro_batch_size=2, processes=3, ppo_epochs=2, steps=5)
    found = group_arguments(GRPOConfig, Run(chosen, 0), tmp_path)
    assert (found.per_device_train_batch_size, found.gradient_accumulation_steps) == (2, 2)
    # There is but one process here, so it is told one's part of the batch.
    assert (found.steps_per_generation, found.generation_batch_size) == (4, 8) and found.max_steps == 20
    taught = supervised_arguments(Run(settings(algorithm="sft", batch_size=24, processes=3), 0), tmp_path)
    assert (taught.per_device_train_batch_size, taught.gradient_accumulation_steps) == (8, 1)


def test_of_several_gpus_one_is_used(tmp_path):
    assert on_one_device(SimpleNamespace(n_gpu=4))._n_gpu == 1
    found = group_arguments(GRPOConfig, Run(settings(), 0), tmp_path)
    assert found.n_gpu <= 1 and found.train_batch_size == found.per_device_train_batch_size


def test_any_seed_will_do(tmp_path):
    assert [group_arguments(GRPOConfig, Run(settings(), seed), tmp_path).seed for seed in (-1, 2**40 + 5)] == [
        2**32 - 1,
        5,
    ]


class Fixed:
    """Measures the same every step."""

    def step_metrics(self, logs):
        replies = {"response_tokens": 3.0, "repetition": 0.0, "sameness": 0.5, "entropy": 2.0}
        return {"reward": 1.0, "kl": 0.0, "policy_loss": 0.5, **replies}

    def own_state(self):
        return None

    def load_own_state(self, state):
        pass


def callback(**others):
    run = Run(SMALL.model_copy(update={"algorithm": "grpo"}), 0, **others)
    return run, StepCallback(run, Fixed(), checkpoints=None)


@pytest.mark.parametrize(
    ("logs", "told"),
    [
        ({"loss": math.nan}, "GRPO step 3: the loss is nan; it must be a finite number. Lower lr"),
        ({"loss": 0.1, "grad_norm": math.inf}, "GRPO step 3: the gradient's norm is inf"),
    ],
)
def test_a_loss_or_gradient_that_is_no_number_stops_the_run(logs, told):
    with pytest.raises(UnitError, match=told):
        callback()[1].on_log(None, SimpleNamespace(global_step=12), None, logs=logs)


def test_a_step_is_noted_watched_and_told_and_the_trainers_last_words_are_not_a_step():
    seen, lines = [], []
    run, made = callback(watch=(lambda step, metrics: seen.append(step),), progress=lambda *told: lines.append(told))
    made.on_log(None, SimpleNamespace(global_step=4), None, logs={"loss": 0.1, "grad_norm": 1.0})
    made.on_log(None, SimpleNamespace(global_step=4), None, logs={"train_runtime": 1.0})
    made.on_log(None, SimpleNamespace(global_step=4), None)
    assert seen == [1] and run.metrics.at(1)["reward"] == 1.0
    ((done, total, line),) = lines
    assert (done, total) == (1, 2)
    assert line.startswith("GRPO step 1: reward 1.000, KL 0.00, 3.0 tokens, entropy 2.00, ") and "samples/s" in line
