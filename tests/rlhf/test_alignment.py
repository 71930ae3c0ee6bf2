import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.alignment import align_here
from apportion.rlhf.training.job import Job
from tests.rlhf.toy import QUESTIONS, SMALL, Scored, chats, quiet, small_policy, splits

SPLITS = splits(train=["chat-0", "chat-1"], policy=["chat-2"], test=["chat-3"])


def by_length(contexts, histories, replies):
    return [float(len(reply)) for reply in replies]


def run(out: Path, seed: int = 0, table=SPLITS, reward=by_length, progress=quiet, checkpoints=None, **changes):
    job = Job(chats(4), table, Path("unread"), SMALL.model_copy(update=changes), seed, out, checkpoints)
    return align_here(job, Scored(reward), progress=progress)


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_run_gives_curves_samples_and_a_policy_that_can_be_loaded(tmp_path):
    history, samples = run(tmp_path)
    assert history.column_names == ["step", "metric", "value"]
    steps = {row["step"] for row in history.to_pylist() if row["metric"] == "reward"}
    assert steps == {1, 2} and "warmup_loss" in history["metric"].to_pylist()
    assert samples.column_names == ["context", "before", "after", "reward_before", "reward_after"]
    assert len(samples) == 2
    for row in samples.to_pylist():
        assert row["context"].startswith("user: ")
        assert (row["reward_before"], row["reward_after"]) == (len(row["before"]), len(row["after"]))
    base = AutoModelForCausalLM.from_pretrained(tmp_path / "base", use_safetensors=True)
    policy = PeftModel.from_pretrained(base, str(tmp_path))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    chat = [{"role": "user", "content": QUESTIONS[0]}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    assert policy.generate(**prompt, max_new_tokens=3).shape[1] > prompt["input_ids"].shape[1]
    card = (tmp_path / "README.md").read_text()
    assert "tiny synthetic policy" in card and 'base_model: "base"' in card


def test_samples_come_from_test_sessions_and_contexts_from_policy_sessions(tmp_path):
    seen: list[list[str]] = []

    def reward(contexts, histories, replies):
        seen.append(sorted({history.split()[0] for history in histories}))
        return by_length(contexts, histories, replies)

    run(tmp_path, reward=reward)
    assert seen == [["chat-2"], ["chat-2"], ["chat-3"], ["chat-3"]]


def test_without_test_sessions_samples_come_from_the_policys_and_none_can_be_asked_for(tmp_path):
    table = splits(train=["chat-0"], policy=["chat-2"])
    assert len(run(tmp_path / "a", table=table)[1]) == 2
    assert len(run(tmp_path / "b", table=table, samples=0)[1]) == 0


SCRIPT = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from tests.rlhf.test_alignment import run
history, samples = run(Path(sys.argv[1]), int(sys.argv[2]))
print(history.to_pydict(), samples.to_pydict())
"""


def in_a_process(out: Path, seed: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path.cwd())}
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out), str(seed)], capture_output=True, text=True, env=environment, check=True
    )
    return found.stdout


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_another_process(tmp_path):
    # This process has another seed for hashes, and whatever the tests before this one have left in it.
    elsewhere = in_a_process(tmp_path / "1", 0, "1")
    history, samples = run(tmp_path / "2", 0)
    assert f"{history.to_pydict()} {samples.to_pydict()}\n" == elsewhere
    assert digest(tmp_path / "1") == digest(tmp_path / "2")


def test_another_seed_gives_another_policy(tmp_path):
    assert run(tmp_path / "1", 1)[0] != run(tmp_path / "2", 2)[0]
    one, two = digest(tmp_path / "1"), digest(tmp_path / "2")
    assert {name for name in one if one[name] != two[name]} == {
        "README.md", "adapter_model.safetensors", "base/model.safetensors",
    }  # fmt: skip


def test_random_numbers_outside_are_left_alone(tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    run(tmp_path)
    assert torch.equal(torch.rand(2), expected)


def test_a_named_policy_is_not_copied(tmp_path):
    policy = small_policy()
    policy.model.save_pretrained(tmp_path / "model")
    policy.tokenizer.save_pretrained(tmp_path / "model")
    history, _ = run(tmp_path / "out", policy=str(tmp_path / "model"), lr=1e-3)
    assert "warmup_loss" not in history["metric"].to_pylist()
    assert not (tmp_path / "out" / "base").exists()
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(tmp_path / "model")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "not copied here" in card and "tiny" not in card.split("## Settings")[0]


def test_the_policy_answers_in_the_place_of_the_chosen_targets_only(tmp_path):
    seen = []

    def reward(contexts, histories, replies):
        seen.extend(histories)
        return by_length(contexts, histories, replies)

    run(tmp_path / "one", reward=reward, targets=("bot",), episode_contexts=1)
    assert set(seen) == {"chat-2 1", "chat-3 1"}
    with pytest.raises(InputError, match="nobody called 'ann' is rated"):
        run(tmp_path / "none", targets=("ann",))


def test_no_policy_sessions(tmp_path):
    match = (
        r"0 contexts.*in 0 episodes of the split 'policy'. Give that split more sessions, or raise max_context_tokens"
    )
    with pytest.raises(UnitError, match=match):
        run(tmp_path, table=splits(train=["chat-0"], test=["chat-3"]))


def test_running_out_of_memory_says_what_to_lower(tmp_path):
    def greedy(contexts, histories, replies):
        return torch.empty(2**60).tolist()

    with pytest.raises(UnitError, match=r"out of memory on the cpu. Lower one of mini_batch_size \(now 2\)"):
        run(tmp_path, reward=greedy)


def test_other_errors_keep_their_own_words(tmp_path):
    def broken(contexts, histories, replies):
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        run(tmp_path, reward=broken)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a CUDA device")
def test_a_missing_device_is_told_before_any_work(tmp_path):
    with pytest.raises(InputError, match="no CUDA device"):
        run(tmp_path, device="cuda")
