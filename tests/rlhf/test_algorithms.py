"""A trainer is one row: a toy is added by its row alone, set, told and trained."""

from __future__ import annotations

import pytest

from apportion.foundation.errors import InputError
from apportion.foundation.lazy import load_named
from apportion.rlhf.algorithms import ALGORITHMS, Algorithm, listed, readers, unrewarded
from apportion.rlhf.align import align
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Job
from tests.rlhf.toy import SMALL, chats, splits

TOY = Algorithm("toy", "Toy: moves nothing.", f"{__name__}:train_toy", frozenset(("epochs",)), needs_reward=False)


def train_toy(data, run):
    """The base policy with adapters that change nothing; a step measures how many contexts there are."""
    model = attach_adapter(data.policy.model, run.settings.adapter)
    for step in range(1, run.settings.steps + 1):
        run.metrics.add(step, {"loss": float(len(data.contexts))})
        run.progress(step, run.settings.steps, "toy")
    return model


def test_a_trainer_is_added_by_its_row_alone(tmp_path, monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "toy", TOY)
    settings = SMALL.model_copy(update={"algorithm": "toy", "epochs": 1})
    history, samples = align(Job(chats(4), splits(train=["chat-0"], test=["chat-3"]), None, settings, 0, tmp_path))
    # Three sessions of three turns are learned from, four turns a step.
    assert [row["value"] for row in history.to_pylist() if row["metric"] == "loss"] == [9.0] * 3 and len(samples) == 2
    assert "tags: [apportion, lora, toy, tiny, synthetic]" in (tmp_path / "README.md").read_text()
    assert settings.model_copy(update={"clip": 0.1}).unread == ("clip",)
    assert readers("epochs") == "sft and toy" and unrewarded() == "sft or toy"


def test_a_row_whose_code_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "toy", Algorithm("toy", "", "nowhere:train", frozenset(), needs_reward=False))
    settings = SMALL.model_copy(update={"algorithm": "toy"})
    with pytest.raises(InputError, match=r"'toy': cannot load 'nowhere:train'.* Correct its row"):
        align(Job(chats(2), splits(train=["chat-0"]), None, settings, 0, tmp_path))


@pytest.mark.parametrize("row", ALGORITHMS.values(), ids=lambda row: row.name)
def test_a_row_names_code_and_settings_that_exist(row):
    assert callable(load_named(row.train, row.name, "")) and row.help
    assert row.reads - {"lora.dropout"} < set(AlignSettings.model_fields)
    assert AlignSettings(algorithm=row.name, num_generations=2).trainer is row


def test_names_are_listed_in_words():
    assert listed(("a",)) == "a" and listed(("a", "b", "c"), "or") == "a, b or c"
    assert readers("max_turns") == "ppo and grpo" and readers("lora.dropout") == "sft"
