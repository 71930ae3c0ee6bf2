import sys
from types import SimpleNamespace as Of

import pytest
import torch
from trl.generation import vllm_generation

from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.sampling.rollout import sample_replies
from apportion.rlhf.sampling.vllm_engine import merged_weights
from tests.rlhf.toy import SHAPES, SMALL, contexts, layers_of, shaped_policy, small_policy

EXPECTED = {"gpu_memory_utilization": 0.3, "max_model_len": 70, "max_num_seqs": 4, "tensor_parallel_size": 1}


def moved(policy, targets):
    """A policy's model with adapters that change something."""
    model = attach_adapter(policy.model, LoraSettings(r=2, alpha=4, targets=targets))
    torch.manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_()
    return model


class Engine:
    """vLLM's LLM as TRL calls it: a copy of the policy without adapters, which loads weights and answers greedily."""

    def __init__(self, **given):
        self.given, self.copy, self.seeds, self.resets = given, small_policy(seed=9), [], 0
        runner = Of(model=Of(load_weights=self.load))
        self.llm_engine = Of(model_executor=Of(driver_worker=Of(model_runner=runner)))

    def load(self, pairs):
        missing, unexpected = self.copy.model.load_state_dict(dict(pairs), strict=False)
        assert not unexpected and len(missing) == len(self.copy.model.state_dict()) - 1

    def reset_prefix_cache(self):
        self.resets += 1

    def generate(self, prompts, sampling_params, use_tqdm):
        asked = [Of(prompt=tuple(one["prompt_token_ids"]), history="") for one in prompts]
        self.seeds.append([one["seed"] for one in sampling_params])
        (length,) = {one["max_tokens"] for one in sampling_params}
        found = sample_replies(self.copy, self.copy.model, asked, max_new_tokens=length, temperature=None)
        rows = zip(found.replies, found.mask, strict=True)
        return [Of(outputs=[Of(token_ids=tuple(reply[kept].tolist()))]) for reply, kept in rows]


@pytest.fixture
def vllm(monkeypatch):
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "")  # What TRL sets is taken back.
        monkeypatch.delenv(name)
    monkeypatch.setattr(vllm_generation, "is_vllm_available", lambda: True)
    monkeypatch.setattr(vllm_generation, "LLM", Engine, raising=False)
    monkeypatch.setitem(sys.modules, "vllm", Of(SamplingParams=dict))


def test_ppo_is_answered_by_the_policy_as_it_is_now(vllm):
    policy, settings = small_policy(), SMALL.model_copy(update={"generation": "vllm", "lora": LoraSettings(r=2)})
    model = moved(policy, settings.lora.targets)
    ppo = PPO(policy, model, contexts(policy), lambda contexts, histories, replies: [1.0] * len(replies), settings)
    engine = ppo.draw._engine.llm
    assert {name: engine.given[name] for name in EXPECTED} == EXPECTED
    for step in (1, 2):
        asked = contexts(policy)[:4]
        wanted = sample_replies(policy, model, asked, max_new_tokens=SMALL.max_new_tokens, temperature=None)
        drawn = ppo._sample(asked)
        assert drawn.texts == wanted.texts and torch.equal(drawn.mask, wanted.mask)
        assert torch.equal(drawn.tokens[:, -drawn.mask.shape[1] :][drawn.mask], wanted.replies[wanted.mask])
        assert ppo.step(step)["response_tokens"] > 0
    assert engine.resets == 4 and len({seed for seeds in engine.seeds for seed in seeds}) == 16
    torch.manual_seed(3)
    ppo._sample(asked)
    torch.manual_seed(3)
    ppo._sample(asked)
    assert engine.seeds[-1] == engine.seeds[-2]  # A resumed run draws the same.


@pytest.mark.parametrize("kind", SHAPES)
def test_weights_are_merged_beside_the_model_and_not_in_it(kind):
    policy = shaped_policy(kind)
    names = {name for name, _ in policy.model.named_parameters()}
    model = moved(policy, layers_of(kind))
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    found = {name: weight.clone() for name, weight in merged_weights(model)}
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    merged = dict(model.merge_and_unload().named_parameters())
    assert set(found) == names == set(merged)
    assert all(torch.allclose(found[name], merged[name], atol=1e-6) for name in names)
    assert any(not torch.equal(found[name], before[place]) for name in names for place in before
               if place == f"base_model.model.{name}".replace(".weight", ".base_layer.weight"))  # fmt: skip
