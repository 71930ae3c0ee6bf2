import json
from pathlib import Path

import pytest
import torch

from apportion.foundation.errors import UnitError
from apportion.rlhf import alignment
from apportion.rlhf.gold import GoldWatch, kept_step, reply_divergence
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.sampling.rollout import sample_replies
from apportion.rlhf.training.job import GoldModels, Job, Run
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training_data import TrainingData
from tests.rlhf.toy import SMALL, Scored, chats, contexts, quiet, small_policy, splits, train

SPLITS = splits(train=["chat-0"], validation=["chat-1", "chat-4"], policy=["chat-2"], test=["chat-3", "chat-5"])
MODELS = GoldModels(Path("a"), Path("b"), "By gold A and gold B, who count letters.")
JUDGED = {"gold", "gold_reward", "gold_kl", "gold_below"}


def by_length(contexts, histories, replies):
    return [float(len(reply)) for reply in replies]


def by_first_letter(contexts, histories, replies):
    return [float(ord(reply[0])) if reply else 0.0 for reply in replies]


@pytest.fixture
def aligned(monkeypatch):
    monkeypatch.setattr(alignment, "ModelReward", lambda folder, device: Scored(by_first_letter))

    def run(out, checkpoints=None, progress=quiet, gold=MODELS, table=SPLITS, **changes):
        settings = SMALL.model_copy(update={"steps": 3, "samples": 1, **changes})
        job = Job(chats(6), table, Path("unread"), settings, 0, out, checkpoints, gold=gold)
        return alignment.align_here(job, Scored(by_length), progress=progress)[0].to_pylist()

    return run


def test_the_divergence_is_zero_at_the_start_and_that_of_whole_distributions_after():
    policy = small_policy()
    torch.manual_seed(0)
    model = attach_adapter(policy.model, SMALL.lora)
    rollout = sample_replies(policy, model, contexts(policy)[:5], max_new_tokens=4, temperature=0.7)
    assert reply_divergence(model, rollout, 0.7, rows=2).tolist() == pytest.approx([0.0] * 5, abs=1e-6)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            weight.data.normal_(std=0.3)
    moved = reply_divergence(model, rollout, 0.7, rows=2)
    assert torch.allclose(moved, reply_divergence(model, rollout, 0.7, rows=5), atol=1e-5) and bool((moved > 0).all())


@pytest.mark.parametrize(("below", "fell"), [((0, 2, 2, 2), True), ((2, 2, 0.9, 2), False), ((2, 2), False)])
def test_gold_falls_when_it_is_below_its_best_as_often_in_a_row_as_alarms_are_patient(below, fell):
    metrics = Metrics((3 * i, "gold_below", value) for i, value in enumerate(below, 1))
    watch = GoldWatch(None, SMALL, 0, None, None, Path("unread"))  # type: ignore[arg-type]
    assert watch.fell(metrics) == fell


def test_the_earliest_of_the_best_steps_is_kept():
    assert kept_step(Metrics([(2, "gold", 0.5), (4, "gold", 0.7), (6, "gold", 0.7), (6, "reward", 9.0)])) == 4
    assert kept_step(Metrics()) is None


class Falls:
    """Gold that has enough after two steps."""

    def measured(self, step, model, metrics):
        return {"gold": float(model is not None)}

    def fell(self, metrics):
        return len([1 for _, name, _ in metrics.rows if name == "gold"]) == 2


@pytest.mark.parametrize("algorithm", ["ppo", "grpo"])
def test_gold_ends_both_loops_and_a_run_that_it_has_ended_is_not_gone_on_with(tmp_path, algorithm):
    def trained():
        policy, metrics = small_policy(), Metrics()
        settings = SMALL.model_copy(update={"algorithm": algorithm, "num_generations": 2, "steps": 4})
        run = Run(settings, 0, metrics, checkpoints=tmp_path / "c", gold=Falls())
        train(TrainingData(policy, contexts(policy), Scored(by_length)), run)
        return metrics.rows

    rows = trained()
    assert [value for _, name, value in rows if name == "gold"] == [1.0, 1.0]
    assert trained() == rows


def test_a_training_with_gold_makes_the_same_steps_as_one_without_and_tells_what_it_gained(tmp_path, aligned):
    measured = aligned(tmp_path / "gold")
    plain = aligned(tmp_path / "plain", gold="no gold: nobody scored.")
    assert [row for row in measured if row["metric"] not in JUDGED] == plain
    assert {row["metric"] for row in measured if row["step"] == 3} >= JUDGED
    told = json.loads((tmp_path / "gold" / "gold.json").read_text())
    assert [point["at"] for point in told["curve"]] == [0, 1, 2, 3] and told["curve"][0]["kl"] == 0
    assert [point["at"] for point in told["best_of"]] == [1, 2, 4, 8]
    assert told["verdict"].split(":")[0] in ("Not shown to be better by gold", "Better by gold", "Worse by gold")
    card = (tmp_path / "gold" / "README.md").read_text()
    assert "## By gold" in card and told["verdict"] in card and MODELS.told in card
    assert "no gold: nobody scored." in (tmp_path / "plain" / "README.md").read_text()


class KilledError(Exception):
    pass


def test_a_killed_training_goes_on_to_the_same_bytes(tmp_path, aligned):
    def stop(done, total, text):
        if done == 2:
            raise KilledError

    whole = aligned(tmp_path / "whole", tmp_path / "c1")
    with pytest.raises(KilledError):
        aligned(tmp_path / "killed", tmp_path / "c2", progress=stop)
    assert aligned(tmp_path / "killed", tmp_path / "c2") == whole
    for name in ("adapter_model.safetensors", "gold.json", "README.md"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_without_contexts_there_is_no_gold_and_who_asks_for_it_is_told(tmp_path, aligned):
    table = splits(train=["chat-0"], policy=["chat-2"], test=["chat-3"])
    aligned(tmp_path / "a", table=table, steps=1)
    assert "the validation split has 0 contexts." in (tmp_path / "a" / "README.md").read_text()
    with pytest.raises(UnitError, match=r"stop = 'gold': .*validation split has 0 contexts"):
        aligned(tmp_path / "b", table=table, steps=1, stop="gold")
