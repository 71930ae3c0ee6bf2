"""Our settings in the words of TRL's trainers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trl import GRPOConfig, RLOOConfig, SFTConfig

from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.run import Run


def updates_a_step(settings: AlignSettings) -> int:
    """Optimizer steps of one step."""
    return 1 if settings.algorithm == "sft" else settings.ppo_epochs * settings.batch_size // settings.mini_batch_size


def group_arguments(run: Run, folder: Path) -> Any:
    """A GRPOConfig or RLOOConfig; one step samples ``batch`` replies, ``group`` to each context.

    What is not named here is as TRL sets it: GRPO's loss is ``dapo`` (a mean over tokens), its advantages are divided
    by the group's deviation, and its divergence is a part of the loss; RLOO's is a part of the reward.
    """
    settings = run.settings
    config = GRPOConfig if settings.algorithm == "grpo" else RLOOConfig
    arguments = config(
        **_shared(run, folder, settings.mini_batch_size),
        steps_per_generation=settings.batch_size // (settings.at_once * settings.processes),
        num_generations=settings.num_generations,
        num_iterations=settings.ppo_epochs,
        beta=settings.divergence_weight,
        epsilon=settings.clip,
        max_completion_length=settings.max_new_tokens,
        temperature=settings.temperature,
        top_p=1.0,
        top_k=0,
        # The order is in the data set already.
        shuffle_dataset=False,
        use_vllm=settings.generation == "vllm",
        # In each process an engine of its own, which samples that process' replies.
        vllm_mode="colocate",
    )
    return on_one_device(arguments)


def supervised_arguments(run: Run, folder: Path) -> SFTConfig:
    """An SFTConfig for token ids and labels that are ready; a step is one update from ``batch`` turns."""
    arguments = SFTConfig(
        **_shared(run, folder, run.settings.batch_size),
        train_sampling_strategy="sequential",
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    return on_one_device(arguments)


def on_one_device(arguments: Any) -> Any:
    """``arguments`` for a single GPU, however many there are: one process is one copy of the policy."""
    # Else transformers would split batches over all that it sees, which TRL refuses.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def _shared(run: Run, folder: Path, minibatch: int) -> dict[str, Any]:
    settings = run.settings
    updates = updates_a_step(settings)
    return {
        "output_dir": str(folder),
        "max_steps": settings.steps * updates,
        "per_device_train_batch_size": settings.at_once,
        "gradient_accumulation_steps": minibatch // (settings.at_once * settings.processes),
        "learning_rate": settings.learning_rate,
        "lr_scheduler_type": _schedule(settings),
        "warmup_steps": settings.warmup or 0,
        "weight_decay": 0.0,
        "max_grad_norm": settings.max_gradient_norm,
        "optim": "adamw_torch",
        "gradient_checkpointing": settings.gradient_checkpointing,
        # Weights are in the wanted format already, adapters in float32; no automatic casting on top.
        "bf16": False,
        "use_cpu": settings.device == "cpu",
        # numpy, which TRL seeds too, takes no other numbers.
        "seed": run.seed % 2**32,
        "logging_steps": updates,
        # A loss that is not a number has to be seen.
        "logging_nan_inf_filter": False,
        "save_strategy": "steps" if run.checkpoints else "no",
        "save_steps": updates,
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
    }


def _schedule(settings: AlignSettings) -> str:
    # Their constant one has no warm-up.
    return "constant_with_warmup" if settings.warmup and settings.lr_schedule == "constant" else settings.lr_schedule
