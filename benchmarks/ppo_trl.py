"""TRL 1.12's PPOTrainer on the task of benchmarks/ppo.py, which runs this in TRL's own environment."""

from __future__ import annotations

import tempfile

import torch
import trl
from datasets import Dataset
from peft import LoraConfig, inject_adapter_in_model
from transformers import TrainerCallback
from trl.experimental.ppo import PPOConfig, PPOTrainer

from benchmarks.ppo_task import LORA, Meter, Task, serve, tokenizer


class Clock(TrainerCallback):
    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def on_train_begin(self, *arguments: object, **more: object) -> None:
        self.meter.mark()

    def on_step_end(self, *arguments: object, **more: object) -> None:
        self.meter.mark()


def run(task: Task, variant: str) -> None:
    """``variant`` "lora-critic" puts adapters on the value model too, which its peft_config does not do."""
    assert trl.__version__ == "1.12.0", trl.__version__
    torch.set_num_threads(task.threads)
    meter = Meter(task)
    value = task.build("LlamaForSequenceClassification", 1, num_labels=1)
    if variant == "lora-critic":
        for weight in value.parameters():
            weight.requires_grad_(False)
        inject_adapter_in_model(LoraConfig(**LORA), value)
        value.score.weight.requires_grad_(True)
    prompts = Dataset.from_list([{"input_ids": prompt} for prompt in task.prompts()])
    with tempfile.TemporaryDirectory() as folder:
        settings = PPOConfig(
            output_dir=folder, per_device_train_batch_size=task.batch, gradient_accumulation_steps=1,
            num_mini_batches=1, num_ppo_epochs=task.ppo_epochs, total_episodes=len(prompts),
            response_length=task.reply, stop_token="eos", num_sample_generations=0, temperature=0.7,
            local_rollout_forward_batch_size=task.batch, save_strategy="no", report_to="none", learning_rate=1.4e-5,
            use_cpu=task.device == "cpu", bf16=task.device == "cuda", gradient_checkpointing=False, disable_tqdm=True,
            seed=0,
        )  # fmt: skip
        trainer = PPOTrainer(
            args=settings,
            processing_class=tokenizer(task),
            model=task.build("LlamaForCausalLM", 0),
            ref_model=None,
            reward_model=task.build("LlamaForSequenceClassification", 2, num_labels=1),
            train_dataset=prompts,
            eval_dataset=prompts.select(range(task.batch)),
            value_model=value,
            peft_config=LoraConfig(**LORA, task_type="CAUSAL_LM"),
            callbacks=[Clock(meter)],
        )
        trainer.train()
    trained = sum(weight.numel() for weight in trainer.model.parameters() if weight.requires_grad)
    meter.tell(trained_weights=trained)


if __name__ == "__main__":
    serve(run)
