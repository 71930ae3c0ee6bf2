import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.corpus import Corpus
from corpus.importers import import_to
from corpus.importers.soda import import_corpus
from foundation.errors import InputError

ROWS = [
    {"dialogue": ["Hi.", "Hello!", "Bye."], "speakers": ["Ann", "Bob", "Ann"], "head": "x"},
    {"dialogue": ["Alone"], "speakers": ["Ann", "Bob"], "head": "x"},
    {"dialogue": ["A", "B"], "speakers": ["Cy", "Di"], "head": "x"},
]


@pytest.fixture(params=["train.parquet", "train.jsonl"])
def source(request, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_dialogues_without_scores(source, tmp_path):
    report = import_to("soda", source, tmp_path / "corpus")
    sessions = list(Corpus.open(tmp_path / "corpus").iter_sessions())
    assert [s.session_id for s in sessions] == ["train-0001", "train-0003"]
    assert [(t.turn, t.speaker, t.text) for t in sessions[0].turns] == [
        (0, "Ann", "Hi."),
        (1, "Bob", "Hello!"),
        (2, "Ann", "Bye."),
    ]
    assert sessions[0].ratings == () and "no scores" in report.notes[0]
    assert [str(item) for item in report.left_out] == [
        f"session train-0002: {source.name}: dialogue and speakers are not of the same length."
    ]


def test_limit(source):
    assert import_corpus(source, {"limit": "1"}).tables["sessions"].num_rows == 1


def test_limit_must_be_a_number(source):
    with pytest.raises(InputError, match="limit=all"):
        import_corpus(source, {"limit": "all"})


def test_missing_column_of_parquet(tmp_path):
    pq.write_table(pa.table({"dialogue": [["a"]]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="no column 'speakers'"):
        import_corpus(tmp_path / "a.parquet", {})


def test_missing_column_of_jsonl(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(InputError, match=r"no column 'dialogue'.*Found: text"):
        import_corpus(tmp_path / "a.jsonl", {})


def test_wrong_type_in_jsonl(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"dialogue": ["a"], "speakers": [1]}\n')
    with pytest.raises(InputError, match="line 1: 'speakers' must be a list of texts"):
        import_corpus(tmp_path / "a.jsonl", {})


def test_damaged_parquet(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1....")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        import_corpus(tmp_path / "a.parquet", {})
