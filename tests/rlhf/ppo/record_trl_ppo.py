"""Records what TRL 1.12.0's PPOTrainer makes of the rollouts of a tiny random model, for test_trl_parity.py.

Run in an environment of its own, from anywhere:

    python -m venv /tmp/trl112
    /tmp/trl112/bin/pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 accelerate==1.15.0 trl==1.12.0
    /tmp/trl112/bin/python tests/rlhf/ppo/record_trl_ppo.py

Two updates of three inner epochs and two minibatches each: rollouts, log-probabilities, values, scores, rewards,
advantages, returns, and for each of the twelve minibatches its losses and the gradients of all trained weights.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import trl
from datasets import Dataset
from peft import LoraConfig
from safetensors.torch import save_file
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification, PreTrainedTokenizerFast
from trl.experimental.ppo import PPOConfig, PPOTrainer

OUT = Path(__file__).resolve().parent / "recorded" / "trl_1_12_0_ppo.safetensors"
VOCABULARY, BATCH, LENGTH, SEED = 24, 8, 6, 11
MODEL = {
    "vocab_size": VOCABULARY, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 32, "initializer_range": 0.5,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
LORA = {"r": 2, "lora_alpha": 4, "lora_dropout": 0.0, "target_modules": ["q_proj", "v_proj"]}
PPO = {
    "num_ppo_epochs": 3, "num_mini_batches": 2, "kl_coef": 0.3, "cliprange": 0.05, "cliprange_value": 0.1,
    "vf_coef": 0.25, "gamma": 0.95, "lam": 0.9, "temperature": 0.8, "learning_rate": 0.1,
}  # fmt: skip
OF_UPDATE = ("query_responses", "logprobs", "ref_logprobs", "values", "scores", "rewards", "advantages", "returns",
             "padding_mask", "padding_mask_p1", "actual_end")  # fmt: skip
OF_MINIBATCH = ("micro_batch_inds", "vf_loss", "pg_loss", "loss")


def tokenizer() -> PreTrainedTokenizerFast:
    words = {"<pad>": 0, "<s>": 1, "</s>": 2, **{f"w{i}": i for i in range(3, VOCABULARY)}}
    made = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w3")),
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
    )
    made.padding_side = "left"
    return made


class Recorder:
    """Stands between the trainer and its backward pass, and reads what the loop has computed up to there."""

    def __init__(self, trainer: PPOTrainer) -> None:
        self.found: dict[str, torch.Tensor] = {}
        self.update, self.minibatch = 0, 0
        self.weights = {name: w for name, w in trainer.model.named_parameters() if w.requires_grad}
        self.inner = trainer.accelerator.backward
        trainer.accelerator.backward = self

    def __call__(self, loss: torch.Tensor, **rest: Any) -> None:
        seen = sys._getframe(1).f_locals
        if seen["update"] != self.update:
            self.update, self.minibatch = seen["update"], 0
            for name in OF_UPDATE:
                self.found[f"update{self.update}.{name}"] = seen[name].detach().clone()
            self.found[f"update{self.update}.lr"] = torch.tensor(seen["optimizer"].param_groups[0]["lr"])
        place = f"update{self.update}.minibatch{self.minibatch}"
        for name in OF_MINIBATCH:
            self.found[f"{place}.{name}"] = torch.as_tensor(seen[name]).detach().clone()
        self.inner(loss, **rest)
        for name, weight in self.weights.items():
            self.found[f"{place}.gradient.{name}"] = weight.grad.detach().clone()
        self.minibatch += 1


def record(seed: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(seed)
    policy = LlamaForCausalLM(LlamaConfig(**MODEL))
    with torch.no_grad():
        # A first component that is always high all but rules out the padding token, which a reply must not hold.
        policy.model.embed_tokens.weight[:, 0] = 4.0
        for layer in policy.model.layers:
            layer.self_attn.o_proj.weight[0] = 0.0
            layer.mlp.down_proj.weight[0] = 0.0
        policy.lm_head.weight[:, 0] = 0.0
        policy.lm_head.weight[0, 0] = -20.0
        policy.lm_head.weight[2, 0] = 0.4
    value = LlamaForSequenceClassification(LlamaConfig(**MODEL, num_labels=1))
    reward = LlamaForSequenceClassification(LlamaConfig(**MODEL, num_labels=1))
    start = {f"policy.{name}": weight.clone() for name, weight in policy.state_dict().items()}
    start |= {f"value.{name}": weight.clone() for name, weight in value.state_dict().items()}
    prompts = [{"input_ids": [1, *torch.randint(3, VOCABULARY, (1 + i % 3,)).tolist()]} for i in range(2 * BATCH)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = PPOConfig(
            output_dir=folder, per_device_train_batch_size=BATCH, gradient_accumulation_steps=1,
            total_episodes=2 * BATCH, response_length=LENGTH, stop_token="eos", num_sample_generations=0,
            local_rollout_forward_batch_size=BATCH, save_strategy="no", report_to="none", use_cpu=True, bf16=False,
            seed=seed, **PPO,
        )  # fmt: skip
        trainer = PPOTrainer(
            args=arguments,
            processing_class=tokenizer(),
            model=policy,
            ref_model=None,
            reward_model=reward,
            train_dataset=Dataset.from_list(prompts),
            eval_dataset=Dataset.from_list(prompts[:2]),
            value_model=value,
            peft_config=LoraConfig(**LORA, task_type="CAUSAL_LM"),
        )
        start |= {
            f"adapter.{name}": weight.detach().clone()
            for name, weight in trainer.model.policy.named_parameters()
            if weight.requires_grad
        }
        recorder = Recorder(trainer)
        trainer.train()
    return {**start, **recorder.found}


def useful(found: dict[str, torch.Tensor]) -> bool:
    """No reply holds the padding token before its end; some end before the limit and some do not."""
    for update in (1, 2):
        replies = found[f"update{update}.query_responses"][:, -LENGTH:]
        ended = (replies[:, :-1] == 2).any(dim=1)
        running = (replies == 2).cumsum(dim=1) == 0
        if (replies[running] == 0).any() or not 2 <= int(ended.sum()) <= BATCH - 1:
            return False
    return True


if __name__ == "__main__":
    assert trl.__version__ == "1.12.0", trl.__version__
    for seed in range(SEED, SEED + 200):
        found = record(seed)
        if useful(found):
            break
    note = {"made_by": "TRL 1.12.0, PPOTrainer", "torch": torch.__version__, "seed": seed,
            "model": MODEL, "lora": LORA, "ppo": PPO}  # fmt: skip
    OUT.parent.mkdir(exist_ok=True)
    save_file({name: value.contiguous() for name, value in found.items()}, OUT, {"record": json.dumps(note)})
    print(f"wrote {OUT}: {OUT.stat().st_size} bytes, seed {seed}, {len(found)} arrays")
