from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from corpus.errors import InputError
from reward_model.model import RewardModel
from rlhf.trl_reward import TRLReward
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small

ASKED = [{"role": "user", "content": "hotel ?"}]
MORE = [*ASKED, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "train ?"}]


@pytest.fixture
def model(tmp_path: Path) -> RewardModel:
    return random_head(small(save_tiny(tmp_path)))


def test_it_scores_the_last_reply_in_its_dialogue(model: RewardModel) -> None:
    replies = [[{"role": "assistant", "content": text}] for text in ("good", "bad w1")]
    found = TRLReward(model)(prompts=[ASKED, MORE], completions=replies, completion_ids=[[1], [2]], trainer_state=None)
    assert found == [model.score([*ASKED, *replies[0]])[-1], model.score([*MORE, *replies[1]])[-1]]
    assert found[0] != found[1]


def test_texts_are_a_question_and_its_answer(model: RewardModel) -> None:
    expected = model.score([*ASKED, {"role": "assistant", "content": "good"}])
    assert TRLReward(model)(["hotel ?"], ["good"]) == expected


def test_trl_takes_it_for_a_function_with_a_name(model: RewardModel) -> None:
    reward = TRLReward(model, "satisfaction")
    assert reward.__name__ == "satisfaction" and callable(reward)
    assert not inspect.iscoroutinefunction(reward)
    # GRPOTrainer's own call: reward_func(prompts=..., completions=..., completion_ids=..., **columns)
    inspect.signature(reward).bind(prompts=[], completions=[], completion_ids=[], log_metric=None)


def test_what_cannot_be_scored_is_refused(model: RewardModel) -> None:
    with pytest.raises(InputError, match="2 prompts and 1 completions"):
        TRLReward(model)(["a", "b"], ["c"])
    for completion in ([], ASKED):
        with pytest.raises(InputError, match="completion 1: its last message is not the assistant's"):
            TRLReward(model)([ASKED], [completion])


@pytest.mark.slow
def test_grpo_trains_with_it(model: RewardModel, tmp_path: Path) -> None:
    from datasets import Dataset
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel
    from trl import GRPOConfig, GRPOTrainer

    folder = save_tiny(tmp_path / "policy", "gpt2")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.padding_side = "left"
    policy = GPT2LMHeadModel(GPT2Config.from_pretrained(folder))
    arguments = GRPOConfig(
        output_dir=str(tmp_path / "out"),
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=4,
        max_steps=1,
        report_to=[],
        use_cpu=True,
    )
    trainer = GRPOTrainer(
        policy,
        reward_funcs=[TRLReward(model)],
        args=arguments,
        train_dataset=Dataset.from_dict({"prompt": ["hotel ?", "train ?"]}),
        processing_class=tokenizer,
    )
    trainer.train()
    assert any("rewards/apportion/mean" in row for row in trainer.state.log_history)
