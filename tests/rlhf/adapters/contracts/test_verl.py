"""verl 0.9.1's own reward manager, agent loop and advantages, on two CPU cores, without a GPU or a language model."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("verl", reason="needs the trainers' environment: `make test-trainers`")

import hydra
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, ToolListWrap
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.trainer.ppo.reward import load_reward_manager
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput

from apportion.rlhf.adapters.verl import ESTIMATOR
from apportion.rlhf.adapters.verl_loop import TurnRewardsOutput
from tests.docs.pages import indented
from tests.rlhf.adapters.recorded import CREDIT, HEARD, PROMPT, ROLLOUTS, tokenizer, write

pytestmark = pytest.mark.trainers
FIELDS = ("prompts", "responses", "response_mask", "rm_scores")


class ServerDouble:
    """In the place of verl's client of vLLM: it says what was recorded, turn by turn."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = list(texts), list[list[int]]()

    async def generate(self, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]) -> TokenOutput:
        self.asked.append(prompt_ids)
        ids = tokenizer()(f"{self.texts.pop(0)} </s>")["input_ids"]
        steps = {"min_global_steps": len(self.asked), "max_global_steps": len(self.asked)}
        return TokenOutput(token_ids=ids, log_probs=[-1.0] * len(ids), extra_fields=steps)


def played(source: str, server: ServerDouble, room: int = 64, **more: Any) -> TurnRewardsOutput:
    async def run() -> TurnRewardsOutput:
        sizes = {"actor_rollout_ref": {"rollout": {"prompt_length": 64, "response_length": room}}}
        (named,) = re.findall(
            r"^echo '(.*)' > loop.yaml$", "\n".join(indented("docs/guides/trainers.md")), re.MULTILINE
        )
        (config,) = OmegaConf.create(named.replace("MODEL", source))
        loop = hydra.utils.instantiate(
            {**config, **more}, trainer_config=DictConfigWrap(OmegaConf.create(sizes)), server_manager=server,
            tokenizer=tokenizer(), processor=None, hf_model_type=None, dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(OmegaConf.create({})), tools=ToolListWrap([]),
        )  # fmt: skip
        row = {"raw_prompt": PROMPT, "extra_info": {"replies": [HEARD]}}
        return await loop.run({"logprobs": True}, **row)

    return asyncio.run(run())


def test_turns_are_paid_on_their_last_tokens_and_credited_in_verls_trainer(tmp_path: Path) -> None:
    source = write(tmp_path)
    outputs = [played(source, ServerDouble(*texts)) for texts in ROLLOUTS]
    fields = [output.as_dict() for output in outputs]
    for field, output, rewards in zip(fields, outputs, ROLLOUTS.values(), strict=True):
        assert [paid for paid in field["rm_scores"].tolist() if paid] == list(rewards)
        assert output.reward_score == sum(rewards) and output.extra_fields["turn_rewards"] == list(rewards)
        assert output.extra_fields["min_global_steps"] == 1 and output.extra_fields["max_global_steps"] == 2
        assert len(output.response_logprobs) == len(output.response_mask) == len(output.response_ids)
    padded = {name: torch.nn.utils.rnn.pad_sequence([of[name] for of in fields], batch_first=True) for name in FIELDS}
    padded["token_level_rewards"] = padded["rm_scores"]
    data = DataProto(TensorDict(padded, batch_size=2), {"uid": np.array(["one", "one"], dtype=object)})
    found = compute_advantage(data, ESTIMATOR, config=OmegaConf.create({"gamma": 1.0})).batch
    for mask, advantages, credit in zip(found["response_mask"], found["advantages"], CREDIT, strict=True):
        runs = [run for run in torch.split(advantages, _lengths(mask)) if run.any()]
        assert [run.unique().tolist() for run in runs] == [[of] for of in credit]


def _lengths(mask: torch.Tensor) -> list[int]:
    return torch.unique_consecutive(mask, return_counts=True)[1].tolist()


def test_verls_own_output_has_the_sum_on_the_last_token(tmp_path: Path) -> None:
    output = played(write(tmp_path), ServerDouble("no", "yes good ."))
    plain = AgentLoopOutput(**{name: getattr(output, name) for name in AgentLoopOutput.model_fields})
    assert plain.as_dict()["rm_scores"].tolist()[-1] == output.reward_score == 1.0


def test_what_the_model_reads_is_the_conversation_by_its_own_template(tmp_path: Path) -> None:
    server = ServerDouble("no", "yes good .")
    played(write(tmp_path), server)
    spoken = [*PROMPT, {"role": "assistant", "content": "no"}, {"role": "user", "content": HEARD}]
    whole = tokenizer().apply_chat_template(spoken, add_generation_prompt=True, return_dict=False)
    assert server.asked[1] == whole


def test_a_rollout_ends_where_its_room_or_its_turns_do(tmp_path: Path) -> None:
    source = write(tmp_path)
    one = played(source, ServerDouble("no", "yes good ."), most_turns=1)
    assert one.extra_fields["turn_rewards"] == [-1.0] and one.num_turns == 2
    cut = played(source, ServerDouble("no", "yes good ."), room=1)
    assert cut.response_mask == [1] and cut.token_rewards == [-1.0]


def test_verls_reward_manager_scores_an_answer_by_our_function(tmp_path: Path) -> None:
    function = {
        "path": "pkg://apportion.rlhf.adapters.verl",
        "name": "compute_score",
        "reward_kwargs": {"source": write(tmp_path)},
    }
    manager = {"source": "register", "name": "naive"}
    config = OmegaConf.create({"reward": {"custom_reward_function": function, "reward_manager": manager}})
    ids = torch.tensor([tokenizer()("yes good </s> <pad>")["input_ids"]])
    asked = torch.ones((1, 2), dtype=torch.int64)
    seen = torch.cat([asked, (ids != 0).long()], dim=1)
    batch = TensorDict({"prompts": asked, "responses": ids, "attention_mask": seen}, batch_size=1)
    row = {"data_source": "apportion", "reward_model": {"ground_truth": ""}, "extra_info": {"prompt": PROMPT}}
    data = DataProto(batch, {name: np.array([value], dtype=object) for name, value in row.items()})

    async def run() -> dict[str, Any]:
        return await load_reward_manager(config, tokenizer()).run_single(data)

    assert asyncio.run(run()) == {"reward_score": 1.0, "reward_extra_info": {"score": 1.0}}


def test_verl_loads_the_estimator_in_every_process_that_is_told_to() -> None:
    code = f"import verl, verl.trainer.ppo.core_algos as c; print(c.get_adv_estimator_fn({ESTIMATOR!r}).__module__)"
    env = {**os.environ, "VERL_USE_EXTERNAL_MODULES": "apportion.rlhf.adapters.verl_loop"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.split()[-1] == "apportion.rlhf.adapters.verl"
