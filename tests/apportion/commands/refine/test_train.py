import json

import pytest

from tests.apportion.called import saying
from tests.rlhf.stackelberg.tiny import training

run = saying("train")


@pytest.mark.slow
def test_train_and_persuasion_name_what_they_wrote(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("apportion.rlhf.stackelberg.persuasion_eval.table.ANSWER_TOKENS", 8)
    config = training(tmp_path)
    code, told, _ = run(capsys, "refiner", config)
    assert code == 0 and "epoch 0: reward" in told and f"wrote {tmp_path / 'refiner'}" in told
    assert "nats a reply from the start" in told
    code, told, _ = run(capsys, "refiner", config, "--json")
    assert code == 0 and [row["epoch"] for row in json.loads(told)["held_out"]] == [0, 1, 2]
    code, told, _ = run(capsys, "refiner-eval", tmp_path / "refiner", "--follower", tmp_path / "measurer", "--count", 2)
    assert code == 0 and "unrefined" in told and "persuasion.jsonl" in told


def test_somebody_has_to_answer(tmp_path, capsys):
    code, _, told = run(capsys, "refiner-eval", tmp_path)
    assert code == 2 and "give --follower" in told
    code, _, told = run(capsys, "refiner-eval", tmp_path, "--follower", "x")
    assert code == 2 and "no trained Refiner there" in told


def test_a_configuration_that_is_not_there_is_told(tmp_path, capsys):
    code, _, told = run(capsys, "refiner", tmp_path / "none.toml")
    assert code == 2 and "none.toml" in told
