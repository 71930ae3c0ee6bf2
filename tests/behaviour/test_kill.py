import hashlib
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.behaviour.command import ROOT, apportion, config, environment
from tests.behaviour.small import write_small_corpus

SMALL = """
corpus = "corpus"
output = "{output}"
[split]
train = 0.5
validation = 0.1
test = 0.2
policy = 0.2
[decompose]
method = "rrd"
compare = ["uniform", "sentiment"]
[train_reward]
epochs = 2
head_hidden_size = 8
[evaluate]
bootstrap = 100
[align]
steps = 2
batch_size = 4
mini_batch_size = 2
max_new_tokens = 6
samples = 2
[run]
workers = 1
[align.tiny]
hidden = 32
layers = 1
vocabulary = 300
warmup_steps = 3
"""
LESS = {
    '"uniform", "sentiment", "rrd", "llm"': '"uniform", "rrd"',
    "sessions = 20": "sessions = 2",
    "steps = 40": "steps = 6",
    "warmup_steps = 250": "warmup_steps = 30",
}
"""Settings of the demo, and what stands in for them in `test_a_kill_of_the_demo_leaves_the_same_bytes`."""


def digests(folder: Path) -> dict[str, str]:
    """Every table, weight and page that a run leaves, by name; not the lock, what only saves time, who worked when."""
    paths = [
        p
        for p in folder.rglob("*")
        if p.is_file() and not {"inputs", "activity"}.intersection(p.parts) and p.suffix != ".lock"
    ]
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
        if not path.name.startswith(("llm_cache", ".lock"))
    }


def kill_again_and_again(
    toml: Path, output: Path, expected: dict[str, str], seconds: float, kills: int, seed: int
) -> None:
    """Kill ``kills`` runs with SIGKILL at random moments, each going on where the last one fell."""
    chance = random.Random(seed)
    command = [sys.executable, "-m", "apportion", "run", str(toml)]
    killed = 0
    while killed < kills:
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=chance.uniform(0.02, 0.4) * seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            continue
        # It reached the end before its kill. Begin anew: a run with nothing left to do ends before any kill can hit it.
        assert process.returncode == 0
        assert digests(output) == expected
        shutil.rmtree(output)


def check_that_kills_change_nothing(tmp_path: Path, text: str, kills: int, seed: int) -> None:
    undisturbed = config(tmp_path, text.format(output="undisturbed"))
    started = time.monotonic()
    done = apportion("run", undisturbed)
    seconds = time.monotonic() - started
    assert done.returncode == 0, done.stderr
    expected = digests(tmp_path / "undisturbed")
    disturbed = tmp_path / "disturbed.toml"
    disturbed.write_text(text.format(output="disturbed"), encoding="utf-8")
    kill_again_and_again(disturbed, tmp_path / "disturbed", expected, seconds, kills, seed)
    assert apportion("run", disturbed).returncode == 0
    found = digests(tmp_path / "disturbed")
    assert expected.keys() == found.keys()
    assert {name for name in expected if expected[name] != found[name]} == set()
    kinds = {Path(name).suffix for name in expected}
    assert {".parquet", ".safetensors", ".html", ".json"} <= kinds


@pytest.mark.slow
def test_a_kill_of_the_demo_leaves_the_same_bytes(tmp_path):
    check_that_kills_change_nothing(tmp_path, little_demo(), kills=1, seed=2)


def little_demo() -> str:
    """The demo's corpus, films and stages; less is trained, which takes most of its time and no other path.

    ``{output}`` stands where the run folder does.
    """
    demo = (ROOT / "demo" / "demo.toml").read_text(encoding="utf-8")
    text = demo.replace('"corpus"', f'"{ROOT / "demo" / "corpus"}"')
    text = text.replace('"llm_replies.jsonl"', f'"{ROOT / "demo" / "llm_replies.jsonl"}"')
    text = text.replace('detector = "auto"', 'detector = "haar"')
    for much, little in LESS.items():
        assert much in text
        text = text.replace(much, little)
    return text.replace("{", "{{").replace("}", "}}").replace('"../runs/demo"', '"{output}"')


@pytest.mark.slow
def test_an_alignment_killed_after_any_step_goes_on_to_the_same_policy(tmp_path):
    """`apportion run --only align` with SIGKILL as soon as the checkpoint of each of its steps is there."""
    write_small_corpus(tmp_path / "corpus")
    text = SMALL.replace("steps = 2\n", "steps = 3\n")
    assert apportion("run", "--only", "align", config(tmp_path, text.format(output="undisturbed"))).returncode == 0
    disturbed = tmp_path / "disturbed.toml"
    disturbed.write_text(text.format(output="disturbed"), encoding="utf-8")
    command = [sys.executable, "-m", "apportion", "run", "--only", "align", str(disturbed)]
    checkpoints = tmp_path / "disturbed" / "store" / "checkpoints"
    killed = []
    for step in range(3):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, env=environment(), **quiet)
        while process.poll() is None and not any(checkpoints.glob(f"align/*/step-{step:06d}")):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        killed.append(process.wait())
    assert killed.count(-signal.SIGKILL) >= 2
    assert apportion("run", "--only", "align", disturbed).returncode == 0
    expected, found = digests(tmp_path / "undisturbed" / "policy"), digests(tmp_path / "disturbed" / "policy")
    assert "adapter_model.safetensors" in expected and expected == found
    assert not any(checkpoints.glob("align/*"))
