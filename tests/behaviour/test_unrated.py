import re
from html import unescape
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import in_process
from tests.behaviour.small import TINY_POLICY, write_small_corpus
from tests.behaviour.soda import joined, soda_corpus
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small

TEXT = """
corpus = "{corpus}"
output = "{output}"
{top}
[decompose]
method = "sentiment"
[train_reward]
epochs = 1
[align]
steps = 1
batch_size = 2
mini_batch_size = 2
max_new_tokens = 4
samples = 2
{align}
"""
TEXT += TINY_POLICY


def write_config(folder: Path, corpus: Path, output: str, align: str = "", top: str = "") -> Path:
    path = folder / f"{output}.toml"
    path.write_text(TEXT.format(corpus=corpus, output=output, align=align, top=top))
    return path


def card(run: Path) -> str:
    (line,) = [line for line in (run / "policy" / "README.md").read_text().splitlines() if line.startswith("Contexts:")]
    return line


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("unrated")
    rated, soda = write_small_corpus(folder / "rated", sessions=12), soda_corpus(folder / "soda")
    return {"rated": rated, "soda": soda, "both": joined(folder / "both", rated, soda)}


@pytest.fixture(scope="module")
def reward_model(tmp_path_factory) -> Path:
    """What another run has left: a small reward model."""
    folder = tmp_path_factory.mktemp("elsewhere")
    random_head(small(save_tiny(folder / "bert"))).save_pretrained(folder / "llm-seed0")
    return folder / "llm-seed0"


def page(run: Path) -> str:
    text = re.sub(r"<(style|svg).*?</\1>", "", (run / "report.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.slow
def test_they_give_contexts_and_change_no_reward_and_no_reward_model(corpora, tmp_path, monkeypatch):
    for name in ("rated", "both"):
        done = in_process(monkeypatch, "run", "--only", "align", write_config(tmp_path, corpora[name], name))
        assert done.returncode == 0, done.stdout + done.stderr
    alone, both = tmp_path / "rated", tmp_path / "both"
    for file in ("rewards.parquet", "scores.parquet", "reward_models/sentiment-seed0/model.safetensors"):
        assert (alone / file).read_bytes() == (both / file).read_bytes()
    before, after = (pq.read_table(run / "splits.parquet").to_pylist() for run in (alone, both))
    assert [row for row in after if not row["session_id"].startswith("soda")] == before
    assert "sessions without a score" not in card(alone)
    # One rated session of the policy's with three turns of the bot, and who speaks second in 19 of SODA's.
    assert "Contexts: 41 contexts (38 of sessions without a score)" in card(both)


def test_a_corpus_without_scores_is_aligned_with_another_runs_reward_model(
    corpora, reward_model, tmp_path, monkeypatch
):
    align = f'targets = ["second"]\nreward_model = "{reward_model}"'
    chosen = write_config(tmp_path, corpora["soda"], "run", align)
    done = in_process(monkeypatch, "run", chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out       train-reward (no session has a score)" in done.stdout
    run = tmp_path / "run"
    kinds = [row["split"] for row in pq.read_table(run / "splits.parquet").to_pylist()]
    assert (kinds.count("test"), kinds.count("policy"), len(kinds)) == (4, 16, 20)
    assert not (run / "rewards.parquet").exists() and not (run / "evaluation.json").exists()
    told = page(run)
    assert "No session has a score, so no turn of 20 sessions has a reward." in told
    assert "No rewards: left out: no session has a score" in told and "llm-seed0: reward" in told
    assert "of sessions without a score)" in card(run)
    assert "reward model of another run (`llm-seed0`)" in (run / "policy" / "README.md").read_text()
    rows = pq.read_table(run / "histories.parquet").to_pylist()
    assert {(row["stage"], row["method"]) for row in rows} == {("align", "llm-seed0")}
    assert "align: 1 reused" in in_process(monkeypatch, "run", "--only", "align", chosen).stderr
    out = tmp_path / "r.parquet"
    asked = (run / "policy", corpora["soda"], "--policy", f"base={run / 'policy' / 'base'}", "--out", out)
    done = in_process(monkeypatch, "policy", "generate", *asked, "--target", "second")
    assert done.returncode == 0, done.stdout + done.stderr
    answered = {row["session_id"] for row in pq.read_table(out).to_pylist()}
    held_out = {r["session_id"] for r in pq.read_table(run / "splits.parquet").to_pylist() if r["split"] == "test"}
    assert answered and answered <= held_out


@pytest.mark.slow
def test_sft_needs_no_reward_and_so_no_score(corpora, tmp_path, monkeypatch):
    chosen = write_config(tmp_path, corpora["soda"], "run", 'algorithm = "sft"\ntargets = ["second"]')
    done = in_process(monkeypatch, "run", chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Before reward – " in page(tmp_path / "run") and "no reward: loss" in page(tmp_path / "run")


WRONG = {
    "third": ('targets = ["third"]\nreward_model = "{model}"', "targets: nobody called 'third' is rated"),
    "nobody": ('reward_model = "{model}"', "targets: no session has a score"),
    "ppo alone": ('targets = ["second"]', "A policy can do without: set align.reward_model"),
    "elsewhere": ('targets = ["second"]\nreward_model = "nowhere"', "align.reward_model: "),
    "no weights": ('targets = ["second"]\nreward_model = "{bare}"', "the checkpoint has no weights"),
    "two": ('reward_model = "{model}"\nreward_method = "sentiment"', "name one each; take one of them out"),
    "own": ('targets = ["second"]\nreward_model = "run/reward_models/llm-seed0"', "which this run replaces"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_used_is_told_before_any_work(case, corpora, reward_model, tmp_path, monkeypatch):
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "config.json").write_text((reward_model / "config.json").read_text())
    align, expected = WRONG[case]
    align = align.format(model=reward_model, bare=tmp_path / "bare")
    done = in_process(monkeypatch, "run", write_config(tmp_path, corpora["soda"], "run", align))
    assert done.returncode == 2 and expected in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "run" / "store" / "split").exists()


def test_with_another_runs_reward_model_none_is_trained_for_the_policy(corpora, reward_model, tmp_path, monkeypatch):
    chosen = write_config(tmp_path, corpora["rated"], "run")
    planned = in_process(monkeypatch, "run", "--only", "align", chosen, "--dry-run").stdout
    assert "train-reward" in planned
    planned = in_process(monkeypatch, "run", "--only", "align", chosen, "--dry-run", "--reward-model", reward_model)
    stages = [line.split()[0] for line in planned.stdout.splitlines()[1:] if len(line.split()) == 3]
    assert planned.returncode == 0 and stages == ["split", "align"]


def test_a_configuration_for_a_corpus_without_scores_says_what_it_needs(corpora, tmp_path, monkeypatch):
    done = in_process(monkeypatch, "init", corpora["soda"], "--output", tmp_path / "soda.toml")
    assert done.returncode == 0 and "the corpus has no ratings: set align.reward_model" in done.stdout
    assert "decompose.method = 'reactions-en' for English dialogues" in done.stdout
    assert '\ntargets = ["second"]\n' in (tmp_path / "soda.toml").read_text()
