"""Sessions without a score: contexts for the policy, and nothing else of a run is moved by them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import in_process
from tests.behaviour.small import write_small_corpus
from tests.behaviour.soda import joined, soda_corpus

TEXT = """
corpus = "{corpus}"
output = "{output}"
{top}
[decompose]
methods = ["sentiment"]
[train_reward]
epochs = 1
[align]
steps = 1
batch = 2
minibatch = 2
max_new_tokens = 4
samples = 2
{align}
[align.tiny]
hidden = 32
layers = 1
vocabulary = 320
warmup_steps = 2
warmup_batch = 2
"""


def write_config(folder: Path, corpus: Path, output: str, align: str = "", top: str = "") -> Path:
    path = folder / f"{output}.toml"
    path.write_text(TEXT.format(corpus=corpus, output=output, align=align, top=top))
    return path


def card(run: Path) -> str:
    (line,) = [line for line in (run / "policy" / "README.md").read_text().splitlines() if line.startswith("Contexts:")]
    return line


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("unrated")
    rated, soda = write_small_corpus(folder / "rated", sessions=12), soda_corpus(folder / "soda")
    return {"rated": rated, "soda": soda, "both": joined(folder / "both", rated, soda)}


def test_they_give_contexts_and_change_no_reward_and_no_reward_model(corpora, tmp_path, monkeypatch) -> None:
    for name in ("rated", "both"):
        done = in_process(monkeypatch, "align", write_config(tmp_path, corpora[name], name))
        assert done.returncode == 0, done.stdout + done.stderr
    alone, both = tmp_path / "rated", tmp_path / "both"
    for file in ("rewards.parquet", "scores.parquet", "reward_models/sentiment-seed0/model.safetensors"):
        assert (alone / file).read_bytes() == (both / file).read_bytes()
    before, after = (pq.read_table(run / "splits.parquet").to_pylist() for run in (alone, both))
    assert [row for row in after if not row["session_id"].startswith("soda")] == before
    assert "sessions without a score" not in card(alone)
    # One rated session of the policy's with three turns of the bot, and who speaks second in 19 of SODA's.
    assert "Contexts: 41 contexts (38 of sessions without a score)" in card(both)
