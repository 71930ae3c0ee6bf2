import pyarrow as pa
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import BACKGROUNDS
from apportion.decompose.prompt_building.prompt import Prompt
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import load_config
from apportion.pipeline.engine.stage import Unit
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus

TEXT = """corpus = "corpus"
output = "run"
[decompose]
method = "reaction"
compare = ["uniform", "sentiment", "llm", "rrd"]
[train_reward]
scoring = "windowed"
[decompose.llm]
base_url = "http://127.0.0.1:9/v1"
model = "m"
"""
# The key of `llm` changed once with the name of a setting (speaker_names).
# Turns that are read once (`pooled`) are another embedding; of windows the key is held, and `react` needs none of them.
# `react` read other things from its version 2 on, in a corpus without backgrounds as in any.
HELD = {
    ("split", Unit()): "2c32e27f9a170532d1fd278f43b36f938246cc9035d9ce3b4d70bc5e522d2184",
    ("embed", Unit("s00")): "ceeef119e2a0d70b44f470717d13807c1235101152bed644049226870c5ad5b8",
    ("react", Unit("s00")): "93dc9c3c776de5d6fe8b3c9edb07141442bec98b1a332513ac7dad946ea49bb1",
    ("judge", Unit("s00", "llm")): "cabb8fba27141bddb08a155f1e0e7941dbf837b63dd676a7b60c8260a6e609d6",
    ("judge", Unit("s00", "sentiment")): "0f7c65657b947c0d235036d0d629e7bff09dfb2618b68e64820c002e64db4346",
    ("judge", Unit("s00", "uniform")): "3af78b509eea6bad8f8f21239ed1dbddad3d35dd750090a2d2e36fdc4f327eea",
}


def keys(folder):
    engine = open_engine(load_config(config(folder, TEXT)))
    return {(stage, unit): engine.key(stage, unit) for stage, unit in HELD}


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    # A prompt counts by its files, which may well get other words.
    monkeypatch.setattr(Prompt, "identity", lambda self: "its text")
    return write_small_corpus(tmp_path / "corpus", sessions=6)


def test_keys_are_those_of_the_time_before_backgrounds(corpus, tmp_path):
    assert keys(tmp_path) == HELD


def test_a_background_changes_the_keys_of_its_session_alone(corpus, tmp_path):
    whole = Corpus.open(corpus)
    row = {"session_id": "s01", "speaker": "bot", "kind": "goal", "text": "Sell a ticket."}
    added = pa.Table.from_pylist([row], schema=BACKGROUNDS.arrow)
    Corpus.of(corpus, whole.tables | {"backgrounds": added}).write(corpus)
    found = keys(tmp_path)
    changed = {place for place in HELD if found[place] != HELD[place]}
    assert changed == {("split", Unit())}

    moved = added.set_column(0, "session_id", pa.array(["s00"]))
    Corpus.of(corpus, whole.tables | {"backgrounds": moved}).write(corpus)
    found = keys(tmp_path)
    assert all(found[place] != HELD[place] for place in HELD)
