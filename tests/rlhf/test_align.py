import math
from dataclasses import replace

import pytest
import torch

from apportion.corpus.session import Session
from apportion.corpus.targets import unrated_episode
from apportion.foundation.errors import InputError
from apportion.reward_model.history_windows import window
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from apportion.rlhf.align import align
from apportion.rlhf.alignment import align_here
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.training.job import Job
from apportion.rlhf.training.reward import ModelReward
from tests.rlhf.toy import SMALL, Scored, chats, splits

SPLITS = splits(train=["chat-0", "chat-1"], policy=["chat-2"], test=["chat-3"])


def test_against_a_saved_reward_model_the_windows_are_those_of_its_training(tmp_path):
    model = RewardModel.new(RewardModelSettings(history_turns=2), 768, seed=0)
    torch.nn.init.normal_(model.head.last_weight)
    model.save_pretrained(tmp_path / "rm")
    reward = ModelReward(tmp_path / "rm")
    chat = chats(1)[0]
    pairs = [window(chat, position, 2) for position in chat.target_positions]
    histories = [reward.history(chat, position) for position in chat.target_positions]
    assert histories == [history for history, _ in pairs]
    contexts = [DialogueContext(chat.session_id, 0, (), (), "", place) for place in range(len(pairs))]
    found = reward(contexts, histories, [chat.turns[position].text for position in chat.target_positions])
    assert found == pytest.approx(model.score_episodes([chat])[1].advantage) and len(set(found)) == len(found)
    careful = ModelReward(tmp_path / "rm", sd_penalty=0.5)
    spread = model.score_windows(pairs).sd
    paid = careful(contexts, histories, [reply for _, reply in pairs])
    assert paid == pytest.approx(found - 0.5 * spread) and min(spread) > 0
    history, samples = align(Job(chats(4), SPLITS, tmp_path / "rm", SMALL, 0, tmp_path / "policy"))
    assert all(math.isfinite(value) for value in history["value"].to_pylist())
    assert (tmp_path / "policy" / "adapter_model.safetensors").exists() and len(samples) == 2


def test_errors_begin_with_what_the_caller_calls_the_job(tmp_path):
    job = Job(chats(1), SPLITS, tmp_path / "nowhere", SMALL, 0, tmp_path / "policy")
    with pytest.raises(InputError) as plain:
        align(job)
    with pytest.raises(InputError) as called:
        align(replace(job, called="align"))
    assert str(called.value) == f"align: {plain.value}"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_reward_model_reads_where_the_policy_is(tmp_path, monkeypatch, device):
    placed = []
    monkeypatch.setattr("apportion.reward_model.model.RewardModel.place", lambda model, where: placed.append(where))
    monkeypatch.setattr(
        "apportion.reward_model.model.RewardModel.from_pretrained", lambda folder: RewardModel.__new__(RewardModel)
    )
    monkeypatch.setattr("apportion.rlhf.align.check_alignment", lambda settings: None)
    monkeypatch.setattr("apportion.rlhf.align.align_here", lambda job, reward, **others: reward)
    settings = SMALL.model_copy(update={"device": device})
    reward = align(Job(chats(1), splits(policy=["chat-0"]), tmp_path, settings, 0, tmp_path))
    assert isinstance(reward, ModelReward) and placed == ([] if device == "cpu" else ["cuda"])


def test_only_sft_can_do_without_a_reward_model(tmp_path):
    with pytest.raises(InputError, match=r"ppo raises a reward, and there is no reward model\. Give the folder of one"):
        align(Job(chats(4), SPLITS, None, SMALL, 0, tmp_path / "ppo"))
    sft = SMALL.model_copy(update={"algorithm": "sft"})
    history, samples = align(Job(chats(4), SPLITS, None, sft, 0, tmp_path / "sft"))
    assert "loss" in history["metric"].to_pylist() and len(samples) == 2
    assert set(samples["reward_before"].to_pylist() + samples["reward_after"].to_pylist()) == {None}


def test_sessions_without_a_score_are_answered_like_others(tmp_path):
    scored = chats(4)
    bare = [unrated_episode(Session(e.session_id, e.turns), "bot") for e in scored]
    shared = splits(train=["chat-0", "chat-1"], policy=["chat-2"], test=["chat-3"])
    made = [
        align_here(Job(episodes, shared, None, SMALL, 0, tmp_path / name), Scored(lambda c, h, r: [len(x) for x in r]))
        for name, episodes in (("scored", scored), ("bare", bare))
    ]
    # Nothing of a score enters: the same turns give the same policy.
    assert made[0][0].equals(made[1][0]) and made[0][1].equals(made[1][1])
    first, second = ((tmp_path / name / "adapter_model.safetensors").read_bytes() for name in ("scored", "bare"))
    assert first == second
