"""The adapter for TRL's GRPO: against the installed TRL, and by the documented call."""

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, LlamaConfig

from apportion.foundation.errors import InputError
from apportion.reward_model.model import RewardModel
from apportion.reward_model.trl_reward import GRPOReward
from tests.reward_model.test_model import MESSAGES, random_head
from tests.reward_model.tiny import SIZES, save_tiny, small, tokenizer

ASK: list[dict[str, Any]] = [{"role": "user", "content": "hotel ?"}]


@pytest.fixture
def model(bert: Path) -> RewardModel:
    return random_head(small(bert))


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": text} for text in texts]


def test_messages_are_scored_as_the_model_scores_the_whole_dialogue(model: RewardModel) -> None:
    reward = GRPOReward(model)
    prompts, completions = [ASK, MESSAGES[:-1]], [said("yes good"), said("no bad .")]
    expected = [model.score([*p, *c])[-1] for p, c in zip(prompts, completions, strict=True)]
    found = reward(prompts=prompts, completions=completions, completion_ids=[[1], [2]], trainer_state=None, topic=["x"])
    assert found == pytest.approx(expected, rel=1e-6)
    assert len(set(expected)) == 2 and reward([], []) == []


def test_one_pass_models_are_taken_too(tmp_path: Path) -> None:
    model = random_head(small(save_tiny(tmp_path, "llama"), scoring="one_pass", max_tokens=64), 32)
    found = GRPOReward(model)([MESSAGES[:-1]], [said("no bad .")])
    assert found == pytest.approx([model.score(MESSAGES)[-1]], abs=1e-5)


def test_plain_text_is_one_turn_of_the_user_and_the_reply(model: RewardModel) -> None:
    expected = model.score([*ASK, *said("yes good")])
    assert GRPOReward(model)(["hotel ?"], ["yes good"]) == pytest.approx(expected, rel=1e-6)


def test_tools_and_pictures_are_not_read_and_a_call_alone_has_no_reward(model: RewardModel) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"name": "search"}]}
    answer = {"role": "tool", "content": "{}"}
    picture = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "hotel ?"}]}
    found = GRPOReward(model)([[picture]] * 3, [[call, answer, *said("yes good")], [call], [{"content": "yes good"}]])
    assert found[1] is None
    assert found[0] == found[2] == pytest.approx(model.score([*ASK, *said("yes good")])[0], rel=1e-6)


def test_turns_with_the_other_side_in_between_are_scored_each_in_its_dialogue(model: RewardModel) -> None:
    heard = {"role": "user", "content": "hotel ?"}
    reward = GRPOReward(model)
    (found,) = reward.turns([ASK], [[*said("yes good"), heard, *said("no bad .")]])
    assert found.advantage == pytest.approx(model.score([*ASK, *said("yes good"), heard, *said("no bad .")]), rel=1e-6)
    assert found.of_message == (0, 1)
    assert reward([ASK], [[*said("yes good"), heard, *said("no bad .")]]) == pytest.approx([sum(found.advantage)])


@pytest.mark.parametrize("arguments", [{"kind": "speak", "text": "yes good"}, '{"kind": "speak", "text": "yes good"}'])
def test_what_is_said_by_a_tool_is_said_and_its_answer_is_the_other_sides(arguments: Any, model: RewardModel) -> None:
    def call(name: str, given: Any) -> dict[str, Any]:
        function = {"name": name, "arguments": given}
        return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}

    search, answer = call("search", {"text": "bad"}), {"role": "tool", "name": "search", "content": "no"}
    act, heard = call("act", arguments), {"role": "tool", "name": "act", "content": "hotel ?"}
    (found,) = GRPOReward(model).turns([ASK], [[search, answer, act, heard, *said("no bad .")]])
    plain = [*ASK, *said("yes good"), {"role": "user", "content": "hotel ?"}, *said("no bad .")]
    assert found.advantage == pytest.approx(model.score(plain), rel=1e-6) and found.of_message == (0, 0, 1)
    asked = [*ASK, search, answer, *said("yes good"), ASK[0]]
    assert GRPOReward(model)([asked], [said("no bad .")]) == GRPOReward(model)([plain[:-1]], [said("no bad .")])
    nonsense = [[call("act", "no JSON")], [call("act", "[1]")], [call("act", {"kind": "leave"})], [search, answer]]
    assert GRPOReward(model)([ASK] * 4, nonsense) == [None] * 4


@pytest.mark.parametrize(
    ("prompt", "completion", "problem"),
    [
        (3, "x", "prompt '3': neither text nor a list of messages"),
        ("x", ["x"], "completion .*: neither text nor a list of messages"),
        ([{"role": "user", "content": 7}], "x", "prompt: content '7'; it must be text or a list of parts"),
    ],
)
def test_what_is_no_dialogue_is_refused(prompt: Any, completion: Any, problem: str, model: RewardModel) -> None:
    with pytest.raises(InputError, match=problem):
        GRPOReward(model)([prompt], [completion])


def test_a_folder_is_read_and_a_name_is_shown(model: RewardModel, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    reward = GRPOReward(tmp_path, "turns")
    assert reward.__name__ == "turns"
    assert reward([ASK], [said("yes")]) == GRPOReward(model)([ASK], [said("yes")])


@pytest.mark.parametrize("conversational", [True, False])
def test_trl_trains_against_it(conversational: bool, model: RewardModel, tmp_path: Path) -> None:
    from trl import GRPOConfig, GRPOTrainer

    torch.manual_seed(0)
    policy = AutoModelForCausalLM.from_config(
        LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, **SIZES)
    )
    words = tokenizer(special=False)
    words.chat_template = "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}"
    reward = GRPOReward(model, "turns")
    given: list[tuple[Any, list[float | None]]] = []

    def watched(**call: Any) -> list[float | None]:
        given.append((call, reward(**call)))
        return given[-1][1]

    trainer = GRPOTrainer(
        model=policy,
        reward_funcs=[reward, watched],
        args=GRPOConfig(
            output_dir=str(tmp_path),
            max_steps=1,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=4,
            report_to=[],
            use_cpu=True,
            logging_steps=1,
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"prompt": [ASK if conversational else "hotel ?"] * 4, "topic": ["x"] * 4}),
        processing_class=words,
    )
    trainer.train()
    ((call, rewards),) = given
    assert {"prompts", "completions", "completion_ids", "topic", "trainer_state"} <= call.keys()
    assert len(rewards) == 4 and all(isinstance(value, float) for value in rewards)
    logged = next(row for row in trainer.state.log_history if "rewards/turns/mean" in row)
    assert logged["rewards/turns/mean"] == pytest.approx(sum(value or 0.0 for value in rewards) / 4, rel=1e-4)
