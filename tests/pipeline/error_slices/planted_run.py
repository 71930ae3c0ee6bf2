"""A small run, and one kind of turn in it that costs something."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus

TEXT = 'corpus = "corpus"\noutput = "run"\n[decompose]\nmethods = ["uniform", "sentiment"]\n'


def write_run(folder: Path, sessions: int = 80) -> Path:
    """A run of text-only dialogues up to its rewards: the folder ``run`` beside its ``corpus``."""
    write_small_corpus(folder / "corpus", sessions=sessions)
    run_locally(load_config(config(folder, TEXT)), ["rewards"], quiet=True)
    return folder / "run"


def plant(run: Path, words: str = "please rephrase") -> None:
    """Let every turn that holds ``words`` cost 1 by the method `sentiment`, among noise of 0.3."""
    said = {
        (row["session_id"], row["turn"]): row["text"].lower()
        for row in Corpus.open(run.parent / "corpus").utterances.to_pylist()
    }
    rng = np.random.default_rng(0)
    table = pq.read_table(run / "rewards.parquet")
    rows = table.to_pylist()
    for row in rows:
        if row["method"] == "sentiment":
            row["reward"] = float(rng.normal(0, 0.3)) - (words in said[row["session_id"], row["turn"]])
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), run / "rewards.parquet")
