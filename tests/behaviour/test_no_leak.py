"""No turn label reaches training or selection: with shuffled labels, all but the evaluation has the same bytes."""

import random
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from corpus.corpus import Corpus
from decompose.methods import METHODS, needs_features
from pipeline.assembly import open_engine
from pipeline.config import load_config
from pipeline.engine.progress import StageProgress
from pipeline.running.runner import run_stages
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus
from tests.decompose.influence.measurers import small_model, tokenizer
from tests.decompose.reactions.made_up import write_made_up

TEXT = """
corpus = "{0}"
output = "runs/{0}"
[decompose]
methods = {1}
[train_reward]
epochs = 2
objective = "both"
[decompose.influence]
model = "measurer"
[decompose.reaction]
prior = "learnt.safetensors"
"""
TEXT_METHODS = [
    name for name, m in METHODS.items() if not (m.asks or m.simulates or m.uses_judgements or needs_features(name))
]


def shuffle_labels(folder):
    corpus = Corpus.open(folder)
    labels = corpus.turn_labels
    values = labels.column("value").to_pylist()
    random.Random(1).shuffle(values)
    assert values != labels.column("value").to_pylist()
    place = labels.schema.get_field_index("value")
    changed = labels.set_column(place, labels.schema.field(place), pa.array(values, pa.float64()))
    Corpus.of(folder, {**corpus.tables, "turn_labels": changed}).write(folder)


def files(folder):
    stages = (path for path in (folder / "store").iterdir() if path.name not in ("evaluate", "inputs", "scratch"))
    return {p.relative_to(folder): p.read_bytes() for stage in stages for p in stage.rglob("*") if p.is_file()}


def test_training_is_identical_when_labels_are_shuffled(tmp_path):
    for name in ("as_they_are", "shuffled"):
        write_small_corpus(tmp_path / name, sessions=12)
    shuffle_labels(tmp_path / "shuffled")
    small_model().save_pretrained(tmp_path / "measurer")
    tokenizer().save_pretrained(tmp_path / "measurer")
    write_made_up(tmp_path / "learnt.safetensors")
    evaluations = []
    for name in ("as_they_are", "shuffled"):
        chosen = load_config(config(tmp_path, TEXT.format(name, TEXT_METHODS)))
        with ThreadPoolExecutor(1) as executor, StageProgress(quiet=True) as progress:
            assert not run_stages(chosen, ["evaluate"], progress, executor).quarantined
        (evaluated,) = open_engine(chosen).finished("evaluate").values()
        evaluations.append(evaluated.text("evaluation.json"))
    one, two = files(tmp_path / "runs" / "as_they_are"), files(tmp_path / "runs" / "shuffled")
    assert any("train-reward" in str(path) for path in one)
    assert {"rrd", "rrd-direct", "rudder-direct"} <= {
        unit.method for unit in open_engine(chosen).finished("train-reward")
    }
    assert one == two
    assert evaluations[0] != evaluations[1]
