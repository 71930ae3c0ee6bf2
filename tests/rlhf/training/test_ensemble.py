from pathlib import Path

import numpy as np
import pytest
import torch

from apportion.foundation.errors import InputError
from apportion.reward_model.model import RewardModel
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.ensemble import Ensemble
from apportion.rlhf.training.job import Job, Member
from apportion.rlhf.training.reward import ModelReward, NoReward, load_reward
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small
from tests.rlhf.toy import chats, splits

CHAT = chats(1)[0]
SAID = ["yes good", "no", "train at nine .", "bad"]
ASKED = ([DialogueContext("s", 0, (), (), "", place) for place in range(4)], ["A: hotel ?\n"] * 4, SAID)
JOINS = {
    "mean": ({}, lambda units: units.mean(axis=0)),
    "lower": ({"sd_penalty": 0.5}, lambda units: units.mean(axis=0) - 0.5 * units.std(axis=0, ddof=1)),
    "min": ({"reward_join": "min"}, lambda units: units.min(axis=0)),
}


@pytest.fixture(scope="module")
def members(tmp_path_factory) -> tuple[Member, ...]:
    """Two that are read alike, one of them in units that are ten times as large, and one that trained its backbone."""
    folder, made = tmp_path_factory.mktemp("members"), []
    bert = save_tiny(folder / "bert")
    for seed, changes in enumerate(({}, {}, {"freeze_backbone": False})):
        model = random_head(small(bert, history_turns=2, **changes), mean=float(seed), scale=10.0**seed)
        torch.manual_seed(seed)
        torch.nn.init.normal_(model.head.last_weight)
        model.save_pretrained(folder / str(seed))
        paid = ModelReward(folder / str(seed))(*ASKED)
        made.append(Member(folder / str(seed), float(np.mean(paid)), float(np.std(paid))))
    return tuple(made)


def job(members: tuple[Member, ...], **settings) -> Job:
    chosen = AlignSettings(reward_ensemble=("a", "b"), **settings)
    return Job([CHAT], splits(), None, chosen, 0, Path("unwritten"), ensemble=members)


@pytest.mark.parametrize("join", JOINS)
def test_models_are_brought_into_one_unit_and_joined_and_what_is_read_alike_is_read_once(monkeypatch, members, join):
    read, real = [], RewardModel.embedded
    units = np.array([(np.array(ModelReward(one.folder)(*ASKED)) - one.mean) / one.sd for one in members])
    assert units.std(axis=1) == pytest.approx([1.0] * 3)
    monkeypatch.setattr(RewardModel, "embedded", lambda model, pairs: read.append(pairs) or real(model, pairs))
    settings, joined = JOINS[join]
    reward = load_reward(job(members, **settings))
    assert reward(*ASKED) == pytest.approx(joined(units)) and len(read) == 2
    at = CHAT.target_positions[1]
    assert reward.history(CHAT, at) == ModelReward(members[0].folder).history(CHAT, at)


def test_those_that_read_go_to_the_card_and_sft_needs_none(monkeypatch, members):
    placed = []
    monkeypatch.setattr(RewardModel, "place", lambda model, where: placed.append(where))
    Ensemble(job(members, policy="p", device="cuda"))
    assert placed == ["cuda", "cuda"]
    assert isinstance(load_reward(job(members, algorithm="sft")), NoReward)


@pytest.mark.parametrize("count", [0, 1])
def test_one_is_no_ensemble(members, count):
    with pytest.raises(InputError, match=rf"align.reward_ensemble = a, b: that is {count} reward models, and two"):
        load_reward(job(members[:count]))
