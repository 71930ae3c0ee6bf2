"""A run's conversations for other trainers, written by the command and read by their adapters."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.cli import cli
from apportion.pipeline.results.trainer_rows import TARGETS, turn_rows
from apportion.rlhf.adapters.openrlhf import reward_function
from apportion.rlhf.adapters.scoring import RecordedRewards
from apportion.rlhf.adapters.verl import compute_score
from tests.pipeline.results.test_dataset import export


def command(folder, target, *more):
    return (folder / "config.toml", "--for", target, "--out", folder / target, "--method", "sentiment", *more)


def read(folder):
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


def test_every_credited_turn_is_a_row_with_what_the_run_paid_it(folder, capsys):
    code, out, _ = export(capsys, *command(folder, "rllm"))
    assert code == 0 and "next: docs/guides/trainers.md says how rllm reads it" in out
    stored = [row for row in pq.read_table(folder / "run/rewards.parquet").to_pylist() if row["method"] == "sentiment"]
    assert {path.stem for path in (folder / "rllm").iterdir()} == {"train", "validation", "test", "policy"}
    rows = read(folder / "rllm")
    assert sorted((row["session_id"], row["turn_rewards"][0]) for row in rows) == sorted(
        (row["session_id"], row["reward"]) for row in stored
    )
    for row in rows:
        judge = RecordedRewards(other for other in rows if other["session_id"] == row["session_id"])
        assert [message["role"] for message in row["prompt"]][-1] == "user"
        assert len(row["answers"]) == len(row["turn_rewards"]) and len(row["answers"]) - len(row["replies"]) in (0, 1)
        said = [{"role": "assistant", "content": row["answers"][0]}]
        for answer, heard in zip(row["answers"][1:], row["replies"], strict=False):
            said += [{"role": "user", "content": heard}, {"role": "assistant", "content": answer}]
        assert judge.turns([row["prompt"]], [said])[0].advantage == tuple(row["turn_rewards"])


def test_each_trainer_finds_the_same_in_its_columns(folder, capsys):
    for target in TARGETS:
        assert export(capsys, *command(folder, target, "--session", "s01"))[0] == 0
    plain = read(folder / "rllm")
    assert [row["extra_info"] for row in read(folder / "verl")] == plain
    assert [row["extra_info"] for row in read(folder / "skyrl")] == plain
    assert [json.loads(row["label"]) for row in read(folder / "openrlhf")] == plain
    (source,) = (folder / "rllm").iterdir()
    reward_func = reward_function(source)
    for row, verl, other in zip(plain, read(folder / "verl"), read(folder / "openrlhf"), strict=True):
        given = {name: verl[name] for name in ("data_source", "extra_info")}
        found = compute_score(solution_str=row["answers"][0], ground_truth="", source=str(source), **given)
        assert found == {"score": row["turn_rewards"][0]} and other["input"] == verl["prompt"] == row["prompt"]
        rewards = reward_func([f"asked{row['answers'][0]}</s>"], ["asked"], [other["label"]])["rewards"]
        assert rewards.tolist() == pytest.approx([row["turn_rewards"][0]])


def test_turns_on_the_same_side_are_one_and_seeds_are_averaged_and_what_was_known_comes_first():
    said = [("user", "a"), ("assistant", "b"), ("assistant", "c"), ("user", "d"), ("user", "e"), ("assistant", "f")]
    row = {
        **dict.fromkeys(("session_id", "rater", "target", "rating"), "x"),
        "messages": [{"role": role, "content": text} for role, text in said],
        "backgrounds": [{"text": "Be brief."}, {"text": "Sell."}],
    }
    seeds = [
        {**row, "rewards": rewards} for rewards in ([None, 1, None, None, None, None], [None, 3, 4, None, None, None])
    ]
    (found,) = turn_rows(seeds)
    known, asked = {"role": "system", "content": "Be brief.\nSell."}, {"role": "user", "content": "a"}
    assert found["prompt"] == [known, asked] and found["answers"] == ["b\nc", "f"] and found["replies"] == ["d\ne"]
    assert found["turn_rewards"] == [6, None] and found["turn"] == 0
    opens = {**row, "messages": row["messages"][1:], "rewards": [1.0, 1.0, None, None, 2.0]}
    assert [found["turn"] for found in turn_rows([opens])] == [1]  # Nobody has said anything before the first.
    last = [{**row, "backgrounds": [], "rewards": [None] * 5 + [2.0]}]
    (found,) = turn_rows(last)
    assert [message["content"] for message in found["prompt"]] == ["a", "b\nc", "d\ne"] and found["replies"] == []


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("--for", "verl"), r"has rewards of sentiment, uniform\. Choose one with --method"),
        (("--for", "verl", "--format", "dataset"), "give --format .* or --for TRAINER, one of the two"),
        ((), "give --format .* or --for TRAINER, one of the two"),
    ],
)
def test_what_cannot_be_written_is_told(folder, capsys, more, problem):
    code, _, err = export(capsys, folder / "config.toml", "--out", folder / "out", *more)
    assert code == 2 and not Path(folder / "out").exists()
    with pytest.raises(ValueError, match=problem):
        raise ValueError(err)


def test_the_command_knows_every_trainer():
    (option,) = (one for one in cli.commands["export"].params if one.name == "target")
    assert tuple(option.type.choices) == tuple(TARGETS)
