import hashlib
import json
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from apportion.decompose.methods import REACTIONS_EN
from apportion.decompose.reactions.pretrained import read_prior
from apportion.demo.reactions_en.learn import DIALOGUES, JUDGEMENTS, learn, request, sessions
from apportion.llm_client.cache.recorded import RecordedReplies
from tests.behaviour.command import config, in_process

TEXT = """corpus = "chats"
output = "run"
[run]
workers = 1
last_stage = "train-reward"
[decompose]
method = "reactions-en"
[train_reward]
epochs = 1
"""


def test_its_card_names_the_files_that_taught_it_and_the_family_and_day_of_who_judged():
    card = read_prior(REACTIONS_EN).card
    (taught,) = card.learnt_from
    assert taught.sha256 == hashlib.sha256(DIALOGUES.read_bytes() + JUDGEMENTS.read_bytes()).hexdigest()
    assert (taught.by, taught.licence, card.licence) == ("Claude (Anthropic), 2026-11-23", "Apache-2.0", "Apache-2.0")
    files = [*REACTIONS_EN.parent.iterdir(), *DIALOGUES.parent.iterdir()]
    assert sum(path.stat().st_size for path in files if path.is_file()) < 2_000_000


def test_at_least_300_dialogues_of_every_kind_taught_it_and_each_was_judged():
    rows = [json.loads(line) for line in DIALOGUES.read_text("utf-8").splitlines()]
    tasks, scores = Counter(row["task"] for row in rows), Counter(row["score"] for row in rows)
    assert len(rows) >= 300 and set(scores) == {1, 2, 3, 4, 5}
    assert {"booking", "recommendation", "support", "tutoring", "open-domain"} <= set(tasks)
    replies = RecordedReplies(JUDGEMENTS)
    assert all(replies.find(request(session)[0]) is not None for session in sessions())


@pytest.mark.slow
def test_learning_it_again_gives_the_same_numbers():
    learnt, _ = learn()
    shipped = read_prior(REACTIONS_EN)
    assert learnt.card == shipped.card
    largest = float(np.abs(shipped.weights).max())
    # It was learnt in float32; in bfloat16 (AVX-512 BF16) what is read of a reply moves by up to 1%.
    rounding = torch.cpu._is_avx512_bf16_supported()
    np.testing.assert_allclose(learnt.weights, shipped.weights, rtol=0, atol=(2e-3 if rounding else 1e-4) * largest)
    np.testing.assert_allclose(learnt.centre, shipped.centre, rtol=0, atol=1e-2 if rounding else 1e-4)


def chat(good: bool) -> dict[str, object]:
    replies = ["That sounds great, thank you!", "Perfect, that is what I wanted."]
    if not good:
        replies = ["No, that is not what I asked for.", "No, that is wrong again."]
    said = ["A table for two.", replies[0], replies[1]]
    messages = [(("user", one), ("assistant", "Here is what I have found.")) for one in said]
    return {"messages": [{"role": who, "content": text} for pair in messages for who, text in pair]}


def test_chats_without_a_score_get_rewards_that_tell_pleased_people_from_displeased_ones(tmp_path, monkeypatch):
    lines = [json.dumps({"id": f"c{i:02d}", **chat(i % 2 == 0)}) for i in range(12)]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    done = in_process(monkeypatch, "import", "chat", tmp_path / "chats.jsonl", tmp_path / "chats")
    assert done.returncode == 0, done.stdout + done.stderr
    done = in_process(monkeypatch, "run", config(tmp_path, TEXT))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no session has a score" in done.stdout + done.stderr
    rows = pq.read_table(tmp_path / "run" / "rewards.parquet").to_pylist()
    sums = {f"c{i:02d}": sum(r["reward"] for r in rows if r["session_id"] == f"c{i:02d}") for i in range(12)}
    assert min(sums[f"c{i:02d}"] for i in range(0, 12, 2)) > max(sums[f"c{i:02d}"] for i in range(1, 12, 2))
    assert (tmp_path / "run" / "reward_models" / "reactions-en-seed0" / "model.safetensors").is_file()
    taught = "learnt from 440 sessions of demo/reactions_en/dialogues.jsonl (made up) (judgements by Claude (Anthropic)"
    assert (tmp_path / "run" / "report.html").read_text().count(taught) == 1
