import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from apportion.cli import main
from apportion.pipeline.assembly import _kept
from apportion.pipeline.execution import runner
from apportion.rlhf.training.reward import ModelReward
from tests.behaviour.command import apportion, in_process
from tests.behaviour.small import write_small_corpus
from tests.rlhf.hub import hub
from tests.rlhf.saved import save_aligned, save_model

TEXT = """
corpus = "corpus"
output = "run"
[decompose]
method = "sentiment"
[train_reward]
epochs = 2
[align]
policy = "{policy}"
steps = 3
batch_size = 2
mini_batch_size = 2
lr = 1e-3
max_context_tokens = {tokens}
max_new_tokens = 8
samples = 2
"""

Align = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A small run whose reward model is trained (its MiniLM has another tokenizer than the policy), and a policy."""
    folder = tmp_path_factory.mktemp("align")
    write_small_corpus(folder / "corpus", sessions=20)
    save_model(folder / "model")
    return folder


@pytest.fixture
def align(trained, capsys, monkeypatch) -> Align:
    """`apportion run --only align` in this process: its exit code, and all that it said."""
    monkeypatch.setattr(runner, "_process_pool", lambda config, progress: ThreadPoolExecutor(1))

    def run(policy: Path | None = None, tokens: int = 96) -> tuple[int, str]:
        config = trained / "config.toml"
        config.write_text(TEXT.format(policy=policy or trained / "model", tokens=tokens))
        with pytest.raises(SystemExit) as ended:
            main(["run", "--only", "align", str(config)])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out + err

    return run


def template(trained: Path, text: str) -> Path:
    folder = save_model(trained / "odd")
    (folder / "chat_template.jinja").write_text(text)
    return folder


def test_reward_model_and_policy_may_have_different_tokenizers(align, trained):
    code, told = align()
    assert code == 0, told
    curves = pq.read_table(trained / "run" / "histories.parquet").to_pylist()
    rewards = [row["value"] for row in curves if row["stage"] == "align" and row["metric"] == "reward"]
    assert len(rewards) == 3 and all(abs(reward) < 100 for reward in rewards)


def aligned(told: str) -> str:
    (line,) = [line for line in told.splitlines() if line.startswith("align: ")]
    return line


def test_a_policy_in_a_folder_is_found_from_the_configuration_and_known_by_its_content(align, trained):
    assert align(Path("model"))[0] == 0
    base = json.loads((trained / "run" / "policy" / "adapter_config.json").read_text())["base_model_name_or_path"]
    assert base == str(trained / "model")
    assert aligned(align(Path("model"))[1]) == "align: 1 reused"
    before = (trained / "run" / "policy" / "adapter_model.safetensors").read_bytes()
    save_model(trained / "model", seed=1)
    # What one process has read of its input it does not read again.
    _kept.clear()
    code, told = align(Path("model"))
    save_model(trained / "model")
    assert code == 0 and aligned(told) == "align: 1 done"
    assert (trained / "run" / "policy" / "adapter_model.safetensors").read_bytes() != before


def test_a_policy_that_the_run_would_replace_and_one_that_is_no_whole_model(align, trained):
    code, told = align(trained / "run" / "policy" / "base")
    assert code == 2 and "no such folder" in told
    save_aligned(trained / "run" / "policy")
    code, told = align(trained / "run" / "policy" / "base")
    assert code == 2 and "which this run replaces. Copy it to another place, or set another `output`." in told
    save_aligned(trained / "adapters")
    code, told = align(trained / "adapters")
    assert code == 2 and "the folder holds adapters, and a policy to align is a whole model" in told
    assert f"`apportion policy merge {trained / 'adapters'} OUT`" in told


def test_adapters_that_were_merged_are_a_policy_to_align(align, trained, monkeypatch):
    adapters, out = save_aligned(trained / "learned"), trained / "merged"
    done = in_process(monkeypatch, "policy", "merge", adapters, trained / "model" / "config.json" / "merged")
    assert done.returncode == 2 and "cannot be written" in done.stderr and "another place with OUT" in done.stderr
    done = in_process(monkeypatch, "policy", "merge", adapters, out)
    code, told = done.returncode, done.stdout
    assert (
        code == 0
        and f"wrote {out}: " in told
        and f"next: apportion run CONFIG --only align --algorithm grpo --policy {out}" in told
    )
    code, told = align(out)
    assert code == 0 and aligned(told) == "align: 1 done"


def test_an_earlier_runs_policy_is_not_told_as_this_ones(align, trained):
    assert align()[0] == 0
    code, told = align(tokens=8)
    assert code == 1 and f"{trained / 'run' / 'policy'} (an earlier run's: this one made none)" in told
    assert f"{trained / 'run' / 'reward_models'}\n" in told


def test_a_context_longer_than_the_model(align):
    code, told = align(tokens=2000)
    assert code == 2 and "reads at most 128 tokens; max_context_tokens + max_new_tokens = 2008. Lower one" in told


def test_contexts_that_do_not_fit_into_the_window(align):
    code, told = align(tokens=8)
    assert (
        code == 1
        and "0 contexts; left out: " in told
        and "Give that split more sessions, or raise max_context_tokens" in told
    )


def test_a_chat_template_that_lacks_a_role(align, trained):
    code, told = align(template(trained, "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"))
    assert code == 2 and "its chat template lacks the role assistant" in told


def test_rewards_that_are_no_numbers_stop_and_the_last_good_checkpoint_is_kept(align, monkeypatch):
    real, asked = ModelReward.__call__, []

    def breaks(self, contexts, histories, replies):  # type: ignore[no-untyped-def]
        asked.append(1)
        return [float("nan")] * len(replies) if len(asked) > 2 else real(self, contexts, histories, replies)

    monkeypatch.setattr(ModelReward, "__call__", breaks)
    code, told = align(tokens=97)
    assert code == 1 and "PPO step 3: the reward model gave nan for the reply" in told
    (kept,) = re.findall(r"\S*checkpoints/align\S*step-\d+", " ".join(told.split()))[:1]
    # What step 2 left was first heard in step 3, where it could not be scored.
    assert (Path(kept) / "adapter_model.safetensors").is_file() and kept.endswith("step-000001")


def test_memory_that_is_not_there(align, monkeypatch):
    def greedy(self, contexts, histories, replies):  # type: ignore[no-untyped-def]
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 80.00 GiB")

    monkeypatch.setattr(ModelReward, "__call__", greedy)
    code, told = align(tokens=98)
    assert code == 1 and "out of memory on the cpu. Lower one of mini_batch_size (now 2), max_context_tokens" in told


@pytest.mark.slow
def test_a_gated_model_without_a_token(trained):
    with hub() as address:
        done = apportion(
            "policy", "generate", "some/gated-model", trained / "corpus", "--out", trained / "r.parquet",
            HF_ENDPOINT=address, HF_HUB_OFFLINE="0", HF_HOME=str(trained / "hf"), HF_TOKEN="",
            NO_PROXY="127.0.0.1", no_proxy="127.0.0.1",
        )  # fmt: skip
    assert done.returncode == 2
    assert "the model is gated" in done.stderr and "HF_TOKEN" in done.stderr and "Traceback" not in done.stderr


def test_a_corpus_of_no_sessions(tmp_path, trained, monkeypatch):
    write_small_corpus(tmp_path / "empty", sessions=0)
    out = ("--out", tmp_path / "r.parquet")
    done = in_process(monkeypatch, "policy", "generate", trained / "model", tmp_path / "empty", *out)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    config = tmp_path / "config.toml"
    config.write_text(f'corpus = "empty"\noutput = "run"\n[align]\npolicy = "{trained / "model"}"\n')
    done = in_process(monkeypatch, "run", "--only", "align", config)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "no session" in done.stderr or "0 rated sessions" in done.stderr


def test_a_policy_that_does_not_suit_is_told_before_any_stage(trained, tmp_path, monkeypatch):
    config = tmp_path / "config.toml"
    text = TEXT.replace('"corpus"', f'"{trained / "corpus"}"').format(policy=trained / "model", tokens=96)
    config.write_text(text + '[align.lora]\ntargets = ["c_attn"]\n')
    done = in_process(monkeypatch, "run", config)
    assert done.returncode == 2 and "align: lora.targets: the policy has no linear layer 'c_attn'" in done.stderr
    assert not (tmp_path / "run" / "store").exists()


@pytest.mark.slow
def test_a_gated_policy_is_told_before_any_stage(trained, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(TEXT.replace('"corpus"', f'"{trained / "corpus"}"').format(policy="some/gated-model", tokens=96))
    with hub() as address:
        done = apportion(
            "run", config, HF_ENDPOINT=address, HF_HUB_OFFLINE="0", HF_HOME=str(tmp_path / "hf"), HF_TOKEN="",
            NO_PROXY="127.0.0.1", no_proxy="127.0.0.1",
        )  # fmt: skip
    assert done.returncode == 2 and "align: policy 'some/gated-model': the model is gated" in done.stderr
