import json
import sys

import pyarrow.parquet as pq
import pytest

from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.preflight import check
from tests.apportion.called import saying
from tests.behaviour.command import threads
from tests.behaviour.small import QUARTERS, TINY_POLICY, write_small_corpus
from tests.rlhf.saved import save_model

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "uniform"
[train_reward]
epochs = 1
[evaluate]
bootstrap = 100
[align]
steps = 1
batch_size = 4
mini_batch_size = 4
num_generations = 2
max_new_tokens = 4
"""
TEXT += QUARTERS + TINY_POLICY


@pytest.fixture
def folder(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=8)
    (tmp_path / "config.toml").write_text(TEXT)
    return tmp_path


aligned = saying("run", "--only", "align")


FAKE_WANDB = """
import json
from pathlib import Path

LOG = Path(__file__).with_name("calls.jsonl")

def note(name, values):
    with LOG.open("a") as file:
        file.write(json.dumps([name, values]) + chr(10))

def Settings(**options):
    return options

class Run:
    def log(self, values, step):
        note(f"log {step}", values)

    def finish(self, exit_code):
        note("finish", exit_code)

def init(**options):
    note("init", options)
    return Run()
"""
"""Stands for the package wandb; nothing is sent anywhere."""


def test_the_algorithm_of_the_command_line_goes_before_that_of_the_configuration(folder, capsys, monkeypatch):
    (folder / "fake").mkdir()
    (folder / "fake" / "wandb.py").write_text(FAKE_WANDB)
    monkeypatch.syspath_prepend(folder / "fake")
    monkeypatch.setitem(sys.modules, "wandb", None)
    del sys.modules["wandb"]  # and whatever is imported by this name is forgotten with this test
    monkeypatch.setattr("apportion.pipeline.execution.runner._process_pool", threads)
    (folder / "config.toml").write_text(TEXT.replace("workers = 1", 'workers = 1\nwandb = "mine"'))
    code, out, err = aligned(capsys, "--algorithm", "grpo", folder / "config.toml")
    assert code == 0, err
    assert "next: apportion run" in out and 'where align.algorithm = "grpo"' in out
    cards = list((folder / "run").rglob("policy/README.md"))
    assert cards and all("lora, grpo, tiny" in card.read_text() for card in cards)
    histories = [path for path in (folder / "run").rglob("history.parquet") if (path.parent / "policy").is_dir()]
    assert {"reward", "kl", "clip_fraction"} < set(pq.read_table(histories[0])["metric"].to_pylist())
    units = {}
    for name in ("grpo", "sft", "ppo", ""):
        words = ["--algorithm", name] if name else []
        code, out, _ = aligned(capsys, *words, folder / "config.toml", "--dry-run", "--json")
        assert code == 0
        units[name] = [row for row in json.loads(out)["stages"] if row["stage"] == "align"]
    # Made already; another algorithm is other work, and the configured one is taken where none is named.
    assert units["grpo"] != units["sft"] == units["ppo"] == units[""]
    calls = [json.loads(line) for line in (folder / "fake" / "calls.jsonl").read_text().splitlines()]
    assert [name for name, _ in calls] == ["init", "log 1", "finish"]
    options = calls[0][1]
    assert options["project"] == "mine" and options["dir"] == str(folder / "run" / "wandb")
    assert options["settings"] == {"console": "off", "silent": True, "disable_code": True, "disable_git": True}
    assert options["config"]["algorithm"] == "grpo" and "policy" not in options["config"]
    assert "align/reward" in calls[1][1] and calls[2][1] == 0


def test_an_unknown_algorithm_is_told(folder, capsys):
    told = "'ipo' is not one of 'ppo', 'grpo', 'rloo', 'raft', 'dpo', 'kto', 'sft'"
    aligned.refuses(capsys, told, "--algorithm", "ipo", folder / "config.toml")


def test_a_configuration_that_does_not_suit_the_algorithm_is_told(folder):
    config = load_config(folder / "config.toml")
    odd = config.model_copy(update={"align": config.align.model_copy(update={"num_generations": 3})})
    with pytest.raises(InputError, match=r"align rloo: .*batch_size 4 holds no whole number of groups of 3"):
        odd.with_algorithm("rloo")
    assert odd.with_algorithm("sft").align.algorithm == "sft"


def with_run(folder, align=None, **run) -> Config:
    values = {"corpus": folder / "corpus", "output": folder / "run", "run": run, "align": align or {}}
    return Config.model_validate({**values, "decompose": {"method": "uniform"}})


def test_a_missing_extra_is_named_before_any_work(folder, monkeypatch):
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"run.wandb: .* needs wandb. Install it with `pip install 'apportion\[wandb\]'"
    ):
        check(with_run(folder, wandb="mine"))
    vllm = {"algorithm": "grpo", "generation": "vllm", "device": "cuda", "policy": "some/model"}
    with pytest.raises(InputError, match=r"align.generation = 'vllm': .* needs vllm. .*apportion\[vllm\]"):
        check(with_run(folder, vllm))
    check(with_run(folder, vllm), ["evaluate"])
    policy = str(save_model(folder / "model"))
    dealt = {"processes": 2, "policy": policy, "accelerate": "deepspeed", "max_context_tokens": 64}
    with pytest.raises(InputError, match=r"align.accelerate = 'deepspeed': .* needs deepspeed. "):
        check(with_run(folder, dealt))
    check(with_run(folder, {**dealt, "accelerate": "fsdp"}))


def test_a_setting_that_the_algorithm_does_not_read_is_a_warning(folder):
    told = check(with_run(folder, {"algorithm": "grpo", "value_lr": 0.1, "target_kl": 1.0}))
    assert any("align.target_kl, align.value_lr" in warning and "grpo" in warning for warning in told)
    assert not any("not read" in warning for warning in check(with_run(folder, {"value_lr": 0.1})))
    assert not any(
        "not read" in warning for warning in check(with_run(folder, {"algorithm": "rloo", "num_generations": 2}))
    )
    told = check(with_run(folder, {"num_generations": 2}))
    assert any("align.num_generations" in warning and "ppo" in warning for warning in told)


@pytest.mark.slow
def test_a_run_aligns_by_two_processes(folder, capsys):
    text = TEXT.replace("steps = 1\n", "steps = 2\nprocesses = 2\n", 1).replace("group = 2\n", "")
    (folder / "config.toml").write_text(text)
    code, _, told = aligned(capsys, folder / "config.toml")
    assert code == 0, told
    policy = folder / "run" / "policy"
    assert (policy / "adapter_model.safetensors").is_file() and '"processes": 2' in (policy / "README.md").read_text()
