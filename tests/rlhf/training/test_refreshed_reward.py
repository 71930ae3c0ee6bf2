"""A reward that learns from the policy's own replies: what it learns, what it leaves alone, and that it goes on."""

import json
from pathlib import Path

import pytest
import torch

from apportion.foundation.errors import InputError, UnitError
from apportion.reward_model.context_fit import ContextFit
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from apportion.reward_model.state_baseline import StateBaseline
from apportion.rlhf.alignment import align_here
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.training.job import GoldModels, Job
from apportion.rlhf.training.refreshed_reward import MOST_OWN, RefreshedReward
from apportion.rlhf.training.reward import ModelReward
from tests.rlhf.test_alignment import digest
from tests.rlhf.toy import SMALL, Scored, chats, quiet, splits

CHATS = chats(90)
PARTS = {"train": CHATS[:75], "validation": CHATS[75:80]}
TABLE = splits(
    **{name: [e.session_id for e in part] for name, part in PARTS.items()},
    policy=["chat-80", "chat-81", "chat-82"],
    test=["chat-83", "chat-84"],
)
ASKED = ([DialogueContext("s", 0, (), (), "", 1)] * 4, [f"A: {e.turns[2].text}\n" for e in CHATS[:4]])
TRICK = ["your reservation is confirmed"] * 4


def saved(folder: Path, fitted: bool = True) -> Path:
    model = RewardModel.new(RewardModelSettings(heads=1, history_turns=2), 768, 0)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model.head.last_weight.normal_()
        model.baseline = StateBaseline(384)
        if fitted:
            model.context_fit = ContextFit(384)
            model.context_fit.requires_grad_(False)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("model"))


def refreshed(folder: Path, every: int = 2) -> RefreshedReward:
    return RefreshedReward(ModelReward(folder), PARTS, every, 3)


def test_what_the_policy_says_everywhere_is_paid_less_and_what_people_say_is_not(folder):
    before, reward, plain = digest(folder), refreshed(folder), ModelReward(folder)
    drawn = torch.get_rng_state()
    assert [reward(*ASKED, TRICK) for _ in range(2)] == [plain(*ASKED, TRICK)] * 2
    said = [e.turns[3].text for e in CHATS[:4]]
    lost = torch.tensor([plain(*ASKED, TRICK), plain(*ASKED, said)]).mean(dim=1)
    lost -= torch.tensor([reward(*ASKED, TRICK), reward(*ASKED, said)]).mean(dim=1)
    assert lost[0] > 10 * lost[1].clamp(min=0) and lost[0] > 0.01
    # Whoever else reads the model is not touched, nor are the caller's random numbers.
    assert digest(folder) == before and plain(*ASKED, TRICK) == ModelReward(folder)(*ASKED, TRICK)
    assert torch.equal(torch.get_rng_state(), drawn)


def test_it_goes_on_to_the_same_bits_and_forgets_the_oldest_replies(folder):
    whole, first = refreshed(folder), refreshed(folder)
    replies = [TRICK, ["yes"] * 4, ["at nine", "no", "yes", "no"], TRICK, ["no"] * 4, TRICK]
    expected = [whole(*ASKED, said) for said in replies]
    found = [first(*ASKED, said) for said in replies[:3]]
    second = refreshed(folder)
    second.load_state(json.loads(json.dumps(first.state())))
    assert [*found, *(second(*ASKED, said) for said in replies[3:])] == expected
    assert len(set(map(tuple, expected))) > 3
    assert second.state() == whole.state()
    many = [part * (MOST_OWN // 4) for part in ASKED]
    refreshed(folder, every=9).__call__(*many, TRICK * (MOST_OWN // 4))
    second(*many, ["yes"] * MOST_OWN)
    assert {reply for (_, reply), _, _ in second.state()["own"]} == {"yes"}


class StopError(Exception):
    pass


@pytest.mark.parametrize(
    "algorithm",
    ["ppo", "grpo", pytest.param("raft", marks=pytest.mark.slow), pytest.param("dpo", marks=pytest.mark.slow)],
)
def test_a_stopped_alignment_ends_with_the_same_bytes_and_gold_is_left_alone(tmp_path, folder, algorithm):
    changes = {"algorithm": algorithm, "steps": 3, "num_generations": 2, "lr": 0.01, "samples": 0}

    def align(out, checkpoints=None, stop=None, refresh_fit=1):
        def progress(done, total, text):
            if done == stop:
                raise StopError

        settings = SMALL.model_copy(update={**changes, "refresh_fit": refresh_fit})
        job = Job(CHATS, TABLE, folder, settings, 0, out, checkpoints, gold=GoldModels(folder, folder, ""))
        return align_here(job, ModelReward(folder), progress=progress)[0]

    before, whole = digest(folder), align(tmp_path / "a")
    with pytest.raises(StopError):
        align(tmp_path / "b", tmp_path / "kept", stop=2)
    assert align(tmp_path / "b", tmp_path / "kept").equals(whole)
    assert digest(tmp_path / "a") == digest(tmp_path / "b") and digest(folder) == before
    plain = align(tmp_path / "c", refresh_fit=0)
    rewards = [[row["value"] for row in history.to_pylist() if row["metric"] == "reward"] for history in (whole, plain)]
    assert rewards[0][0] == rewards[1][0] and rewards[0][1:] != rewards[1][1:]


def test_what_it_needs_is_told(tmp_path, folder):
    with pytest.raises(
        InputError, match=r"align.refresh_fit = 2: .* no context fit: fewer than 200 .* refresh_fit = 0"
    ):
        refreshed(saved(tmp_path, fitted=False))
    with pytest.raises(InputError, match="no context fit"):
        settings = SMALL.model_copy(update={"refresh_fit": 2})
        align_here(
            Job(CHATS, TABLE, None, settings, 0, tmp_path), Scored(lambda c, h, r: [0.0] * len(r)), progress=quiet
        )
    few = {"train": CHATS[:3], "validation": []}
    with pytest.raises(
        UnitError, match=r"align.refresh_fit = 1: 9 turns of the split train and 0 of validation .* 200"
    ):
        RefreshedReward(ModelReward(folder), few, 1, 0)
