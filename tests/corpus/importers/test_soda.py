import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.soda import import_corpus
from apportion.foundation.errors import InputError

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
        f"session train-0002: {source.name}: dialogue and speakers are not of the same length, or hold nulls."
    ]


def test_limit(source):
    assert import_corpus(source, {"limit": "1"}).tables["sessions"].num_rows == 1


def test_missing_column_of_jsonl(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(InputError, match=r"no column 'dialogue'.*Found: text"):
        import_corpus(tmp_path / "a.jsonl", {})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"dialogue": ["a"], "speakers": [1]}', "line 2: 'speakers' must be a list of texts"),
        ('{"dialogue": ["a"], "spea', "line 2: not valid JSON"),
        ("[1]", "line 2: a JSON object {…} is needed, got a list"),
    ],
)
def test_a_broken_line_of_jsonl_costs_itself_alone(tmp_path, line, words):
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(ROWS[0])}\n{line}\n{json.dumps(ROWS[2])}\n")
    imported = import_corpus(tmp_path / "a.jsonl", {})
    assert imported.tables["sessions"].column("session_id").to_pylist() == ["a-0001", "a-0003"]
    (left_out,) = imported.left_out
    assert left_out.session_id == "a-0002" and words in left_out.message


def test_a_missing_text_in_parquet_costs_its_dialogue_alone(tmp_path):
    rows = [ROWS[0], {"dialogue": ["a", None], "speakers": ["x", "y"]}, {"dialogue": None, "speakers": ["x"]}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    imported = import_corpus(tmp_path / "a.parquet", {})
    assert [item.session_id for item in imported.left_out] == ["a-0002", "a-0003"]


@pytest.mark.parametrize("limit", ["0", "-3", "1.5", "1e300", "nan", "all"])
def test_a_limit_that_is_no_number_of_dialogues(source, limit):
    with pytest.raises(InputError, match=f"option limit={limit}: a (whole )?number"):
        import_corpus(source, {"limit": limit})


def test_a_column_whose_name_is_not_utf8(tmp_path):
    rows = pa.table({"dialogue": [["a"]], "speakers": [["x"]], "headline": [1]})
    pq.write_table(rows, tmp_path / "a.parquet", store_schema=False)
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(data.replace(b"headline", b"head\xb1ine"))
    with pytest.raises(InputError, match="not a readable Parquet file"):
        import_corpus(tmp_path / "a.parquet", {})


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"dialogue": [["a"]]}, "no column 'speakers'"),
        ({"dialogue": [{"a": 1}], "speakers": [{"a": 1}]}, "its columns are not lists of texts"),
    ],
)
def test_other_columns_of_parquet(tmp_path, columns, words):
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=words):
        import_corpus(tmp_path / "a.parquet", {})
