import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from apportion.commands.shared.score_notes import unlike_lines
from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS, REWARDS, SESSIONS, UTTERANCES
from apportion.corpus.session import Episode
from apportion.reward_model.config import TrainingDomain
from apportion.reward_model.model import RewardModel
from apportion.reward_model.out_of_domain import Domain
from tests.apportion.called import saying
from tests.behaviour.command import environment
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small

DIALOGUES = {
    "s1": [("user", "hotel ?"), ("bot", "yes good"), ("user", "train ?"), ("bot", "no bad .")],
    "s2": [("user", "train ?"), ("bot", "")],
    "s3": [("user", "train ?")],
    "s4": [("bot", "good")],
}


KILLED = """
import os, signal, sys
import torch
from apportion.cli import main
from apportion.reward_model.score_journal import Journal

keep, kept = Journal.add, []

def killed(self, key, value):
    if len(kept) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    kept.append(keep(self, key, value))

Journal.add = killed
torch.set_num_threads(1)
main(sys.argv[1:])
"""
"""The command in a process that is killed when it wants to keep the sixth session."""


@pytest.fixture
def model(tmp_path) -> Path:
    random_head(small(save_tiny(tmp_path / "bert"))).save_pretrained(tmp_path / "sentiment-seed3")
    return tmp_path / "sentiment-seed3"


@pytest.fixture
def corpus(tmp_path) -> Path:
    """s1 to s3 are rated, s4 is not; in s3 the bot says nothing."""
    return write(tmp_path / "corpus", DIALOGUES, ["s1", "s2", "s3"])


def write(folder: Path, dialogues: dict[str, list[tuple[str, str]]], rated: list[str]) -> Path:
    said = [
        {"session_id": name, "turn": i, "speaker": who, "text": text}
        for name, turns in dialogues.items()
        for i, (who, text) in enumerate(turns)
    ]
    scores = [
        {"session_id": name, "rater": "user", "target": "bot", "name": "liked", "score": 3.0, "low": 1.0, "high": 5.0}
        for name in rated
    ]
    tables = {
        "sessions": pa.Table.from_pylist([{"session_id": name} for name in dialogues], schema=SESSIONS.arrow),
        "utterances": pa.Table.from_pylist(said, schema=UTTERANCES.arrow),
        "ratings": pa.Table.from_pylist([{**row, "higher_is_better": True} for row in scores], schema=RATINGS.arrow),
    }
    Corpus.of(folder, tables).write(folder)
    return folder


run = saying("policy", "score")


def test_the_table_has_the_columns_of_scores_and_the_models_rewards(capsys, model, corpus, tmp_path):
    out = tmp_path / "deep" / "scores.parquet"
    code, told, _ = run(capsys, model, corpus, "--out", out)
    assert code == 0
    table = pq.read_table(out)
    assert table.schema.equals(REWARDS.arrow)
    rows = table.to_pylist()
    assert [(row["session_id"], row["turn"]) for row in rows] == [("s1", 1), ("s1", 3), ("s2", 1)]
    assert {(row["method"], row["seed"], row["rater"], row["target"], row["name"]) for row in rows} == {
        ("sentiment", 3, "user", "bot", "liked")
    }
    loaded, opened = RewardModel.from_pretrained(model), Corpus.open(corpus)
    expected = [loaded.score_episode(opened.session(name).episodes()[0]) for name in ("s1", "s2")]
    np.testing.assert_allclose(table.column("reward").to_numpy(), np.concatenate(expected), atol=1e-6)
    assert "scored 3 turns of 2 sessions: mean" in told
    assert "left out: 1 session (s4) without such a rating; --target" in told
    assert "left out: 1 session (s3) in which the target says nothing" in told
    assert f"wrote {out}" in told and "next: read" in told and "apportion run CONFIG --only align" in told
    assert {path.name for path in out.parent.iterdir()} == {"scores.parquet", ".scores.parquet.made"}


def test_the_same_again_gives_the_same_bytes_and_asks_before_it_replaces(capsys, model, corpus, tmp_path):
    out = tmp_path / "scores.jsonl"
    assert run(capsys, model, corpus, "--out", out)[0] == 0
    first = out.read_bytes()
    code, told, _ = run(capsys, model, corpus, "--out", out)
    assert code == 0 and f"{out}: nothing to do: it was made with exactly this (3 turns of 2 sessions)" in told
    assert json.loads(run(capsys, model, corpus, "--out", out, "--json")[1])["turns"] == 3
    for other in (["--limit", 1], ["--target", "user"], ["--threads", 2]):
        run.refuses(capsys, "exists. Use --force to replace it", model, corpus, "--out", out, *other)
    assert out.read_bytes() == first
    out.write_bytes(first[:-2])
    run.refuses(capsys, "exists. Use --force to replace it", model, corpus, "--out", out)
    out.with_name(f".{out.name}.made").write_text("[]")
    assert run(capsys, model, corpus, "--out", out)[0] == 2
    assert run(capsys, model, corpus, "--out", out, "--force")[0] == 0
    assert out.read_bytes() == first and len(first.splitlines()) == 3


def test_a_named_speaker_needs_no_ratings(capsys, model, tmp_path):
    bare = write(tmp_path / "bare", DIALOGUES, [])
    run.refuses(capsys, ("no ratings, so nothing says whose turns are meant", "'bot', 'user'"), model, bare)
    code, told, _ = run(capsys, model, bare, "--target", "bot", "--json", "--out", tmp_path / "t.parquet")
    assert code == 0
    assert json.loads(told)["turns"] == 4 and json.loads(told)["unrated"] == []
    rows = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert {(row["rater"], row["name"], row["target"]) for row in rows} == {("", "", "bot")}
    by_place = tmp_path / "by_place.parquet"
    assert run(capsys, model, bare, "--target", "second", "--out", by_place)[0] == 0
    turns = [(row["session_id"], row["turn"], row["target"]) for row in pq.read_table(by_place).to_pylist()]
    # In s2 the bot says nothing, and s3 and s4 have one speaker.
    assert turns == [("s1", 1, "bot"), ("s1", 3, "bot")]
    run.refuses(capsys, "target 'robot': nobody of that name", model, bare, "--target", "robot")


def test_a_session_that_cannot_be_scored_is_said_and_the_others_are_written(
    capsys, model, corpus, tmp_path, monkeypatch
):
    real = RewardModel.score_episodes

    def odd(self: RewardModel, episodes: object) -> object:
        windows, scores, reasons = real(self, episodes)  # type: ignore[arg-type]
        odd_ones = scores.reward * (np.nan if windows.keys[0][0] == "s2" else 1.0)
        return windows, scores._replace(reward=odd_ones), reasons

    monkeypatch.setattr(RewardModel, "score_episodes", odd)
    code, told, _ = run(capsys, model, corpus, "--out", tmp_path / "s.parquet")
    assert code == 1
    assert "failed: s2: session s2, turn 1: the reward is nan, not a finite number" in told
    assert set(pq.read_table(tmp_path / "s.parquet")["session_id"].to_pylist()) == {"s1"}
    code, told, _ = run(capsys, model, corpus, "--out", tmp_path / "s.parquet")
    assert code == 1 and "nothing to do" in told and "failed: s2: session s2, turn 1: the reward is nan" in told
    assert run(capsys, model, corpus, "--limit", 1, "--out", tmp_path / "one.parquet")[0] == 0


def test_a_broken_session_is_named_and_a_corpus_of_such_is_refused(capsys, model, tmp_path):
    folder = write(tmp_path / "odd", DIALOGUES, ["s1", "s2"])
    table = pq.read_table(folder / "utterances.parquet")
    rows = zip(table["session_id"].to_pylist(), table["turn"].to_pylist(), strict=True)
    turns = pa.array([0 if name == "s2" else turn for name, turn in rows], pa.int32())
    pq.write_table(table.set_column(1, "turn", turns), folder / "utterances.parquet")
    code, told, _ = run(capsys, model, folder, "--out", tmp_path / "s.parquet")
    assert code == 1 and "failed: s2: utterances, row" in told
    run.refuses(capsys, ("rating 'happy': not in", "it has liked"), model, folder, "--rating", "happy")


def test_nothing_to_score_writes_nothing(capsys, model, tmp_path):
    folder = write(tmp_path / "c", {"s3": DIALOGUES["s3"]}, ["s3"])
    run.refuses(
        capsys, ("no turn could be scored, nothing is written", "(s3)"), model, folder, "--out", tmp_path / "s.parquet"
    )
    assert not (tmp_path / "s.parquet").exists()


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        ("x.csv", "must end in .parquet or .jsonl"),
        ("folder.parquet", "a folder. Name a file in it"),
        ("file/x.parquet", "cannot be written"),
    ],
)
def test_places_that_cannot_be_written_are_named_before_anything_is_read(out, problem, capsys, tmp_path):
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "file").write_text("x")
    run.refuses(capsys, problem, "no-model", "no-corpus", "--out", tmp_path / out)


def test_a_model_or_corpus_that_is_none_is_refused(capsys, model, corpus, tmp_path):
    (tmp_path / "weights.bin").write_bytes(b"pickle")
    for path, problem in (
        (tmp_path / "weights.bin", "is a pickle"),
        (corpus, "cannot be read"),
        (tmp_path / "nothing", "cannot be read"),
    ):
        run.refuses(capsys, problem, path, corpus)
    run.refuses(capsys, "", model, tmp_path / "nothing")


def test_a_checkpoint_of_another_architecture_is_refused(capsys, model, corpus, tmp_path):
    random_head(small(save_tiny(tmp_path / "wide"), head_hidden_size=4)).save_pretrained(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", model / "model.safetensors")
    run.refuses(capsys, ("weights of another architecture", str(model)), model, corpus)
    save_tiny(tmp_path / "no-reward-model")
    run.refuses(capsys, "no-reward-model", tmp_path / "no-reward-model", corpus, "--out", tmp_path / "s.parquet")
    assert not list(tmp_path.glob("*s.parquet*"))


def test_dialogues_longer_than_read_at_once_are_said(capsys, corpus, tmp_path):
    settings = small(save_tiny(tmp_path / "llama", "llama"), scoring="one_pass", max_tokens=16)
    random_head(settings, 32).save_pretrained(tmp_path / "causal")
    code, told, _ = run(capsys, tmp_path / "causal", corpus, "--out", tmp_path / "s.parquet")
    assert code == 0 and "note: 1 session (s1) longer than the model reads at once" in told
    assert pq.read_table(tmp_path / "s.parquet")["method"].to_pylist() == ["causal"] * 3


def test_stopped_it_goes_on_with_the_next_session_to_the_same_table(capsys, model, corpus, tmp_path, monkeypatch):
    assert run(capsys, model, corpus, "--out", tmp_path / "whole.parquet")[0] == 0
    real, seen = RewardModel.score_episodes, []

    def stopped(self: RewardModel, episodes: Sequence[Episode]) -> object:
        seen.append(episodes[0].session_id)
        if seen == ["s1", "s2"]:
            raise KeyboardInterrupt
        return real(self, episodes)

    monkeypatch.setattr(RewardModel, "score_episodes", stopped)
    code, _, err = run(capsys, model, corpus, "--out", tmp_path / "s.parquet")
    assert code == 130 and "run the same command again" in err and not (tmp_path / "s.parquet").exists()
    code, told, _ = run(capsys, model, corpus, "--out", tmp_path / "s.parquet")
    assert code == 0 and seen == ["s1", "s2", "s2"]
    assert "taken up: 1 sessions that had been scored before" in told
    assert (tmp_path / "s.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not list(tmp_path.glob(".*unfinished"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
def test_killed_it_goes_on_to_the_same_table(capsys, model, tmp_path, one_thread):
    names = [f"s{i:02d}" for i in range(12)]
    folder = write(tmp_path / "long", dict.fromkeys(names, DIALOGUES["s1"]), names)
    assert run(capsys, model, folder, "--out", tmp_path / "whole.parquet")[0] == 0
    out = tmp_path / "s.parquet"
    command = [sys.executable, "-c", KILLED, "policy", "score", str(model), str(folder), "--out", str(out)]
    killed = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL and not out.exists(), killed.stderr
    code, told, _ = run(capsys, model, folder, "--out", out, "--json")
    assert code == 0 and json.loads(told)["resumed"] == 5
    assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_progress_goes_to_the_error_stream_and_json_has_none(model, corpus, tmp_path, capfd):
    code, out, err = run(capfd, model, corpus, "--json", "--out", tmp_path / "s.parquet")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["turns"], told["sessions"], told["method"], told["seed"]) == (3, 2, "sentiment", 3)


def test_turns_unlike_what_taught_the_model_are_flagged(capsys, model, corpus, tmp_path):
    out = tmp_path / "s.jsonl"
    assert "does not store what taught it" in run(capsys, model, corpus, "--out", out)[1]
    loaded = RewardModel.from_pretrained(model)
    loaded.domain = Domain(TrainingDomain(languages=(), longest_turn=7, distance=None), np.ones((1, 32), np.int8))
    loaded.save_pretrained(model)
    warning = (
        "warning: 2 of 3 turns (66.7%) are unlike what taught this model: 2 by length; in 1 session (s1 100%). Do not"
    )
    assert run(capsys, model, corpus, "--out", out, "--force")[1].startswith(warning)
    assert warning in run(capsys, model, corpus, "--out", out)[1]
    told = json.loads(run(capsys, model, corpus, "--out", out, "--json")[1])["unlike_training"]
    assert told == {"turns": 3, "flagged": 2, "by": {"length": 2}, "sessions": {"s1": 1.0}}
    flags = [json.loads(line).get("rationale") for line in out.read_text().splitlines()]
    assert flags == ["unlike training: length"] * 2 + [None]
    (note,) = unlike_lines({**told, "turns": 4})
    assert note.startswith("note: 2 of 4 turns (50.0%)") and unlike_lines({**told, "flagged": 0}) == []
