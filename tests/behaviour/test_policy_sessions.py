from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import apportion.rlhf.alignment
from apportion.corpus.corpus import Corpus
from apportion.corpus.splits.settings import SplitSettings
from apportion.corpus.splits.splits import split
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import load_config
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.execution.runner import run_stages
from apportion.rlhf.policy.contexts import make_contexts
from tests.behaviour.command import config
from tests.behaviour.small import TINY_POLICY, write_small_corpus

TEXT = """
corpus = "{0}"
output = "runs/{0}"
[decompose]
method = "rrd"
[train_reward]
epochs = 2
[align]
steps = 1
batch_size = 2
mini_batch_size = 2
max_new_tokens = 4
samples = 2
"""
TEXT += TINY_POLICY


def sessions_of(folder, *parts):
    table = split(Corpus.open(folder), SplitSettings())
    rows = zip(table["session_id"].to_pylist(), table["split"].to_pylist(), strict=True)
    return {name for name, part in rows if part in parts}


def change_policy_sessions(folder):
    """Other words and scores, in the policy's sessions alone."""
    corpus, own = Corpus.open(folder), sessions_of(folder, "policy")
    utterances = [
        {**row, "text": f"never heard {row['text'][::-1]}"} if row["session_id"] in own else row
        for row in corpus.utterances.to_pylist()
    ]
    ratings = [
        {**row, "score": row["low"] + row["high"] - row["score"]} if row["session_id"] in own else row
        for row in corpus.ratings.to_pylist()
    ]
    tables = {
        **corpus.tables,
        "utterances": pa.Table.from_pylist(utterances, schema=corpus.utterances.schema),
        "ratings": pa.Table.from_pylist(ratings, schema=corpus.ratings.schema),
    }
    Corpus.of(folder, tables).write(folder)


@pytest.fixture
def answered(monkeypatch):
    """The sessions of each set of contexts that is made."""
    made = []

    def watching(episodes, *arguments, **options):
        found = make_contexts(episodes, *arguments, **options)
        made.append({context.session_id for context in found.contexts})
        return found

    monkeypatch.setattr(apportion.rlhf.alignment, "make_contexts", watching)
    return made


@pytest.mark.slow
def test_the_reward_model_has_not_seen_what_the_policy_answers(tmp_path, answered):
    weights, histories = [], []
    for name in ("as_they_are", "changed"):
        folder = write_small_corpus(tmp_path / name, sessions=20)
        if name == "changed":
            change_policy_sessions(folder)
        chosen = load_config(config(tmp_path, TEXT.format(name)))
        with ThreadPoolExecutor(1) as executor, StageProgress(quiet=True) as progress:
            assert not run_stages(chosen, ["align"], progress, executor).quarantined
        engine = open_engine(chosen)
        (trained,) = engine.finished("train-reward").values()
        (aligned,) = engine.finished("align").values()
        weights.append((trained.folder / "model" / "model.safetensors").read_bytes())
        histories.append(aligned.table("history"))
        learned = sessions_of(folder, "train", "validation")
        contexts, unseen = answered[-2:]
        assert contexts and contexts <= sessions_of(folder, "policy") and not contexts & learned
        assert unseen == sessions_of(folder, "test") and not unseen & learned
    # Whatever is said and scored in the policy's sessions, the reward model is the same to the last bit; the policy,
    # which answers in them, is not.
    assert weights[0] == weights[1]
    assert histories[0] != histories[1]
