"""Large data sets in Parquet parts become the corpus that they would become if they were held whole."""

import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus import Corpus, import_to
from apportion.corpus.account import account_of
from apportion.corpus.importers.chats import row_groups
from apportion.corpus.schema import CORPUS_TABLES
from apportion.foundation.errors import InputError

SCALE = {"low": "1", "high": "5"}
NAMES = [schema.name for schema in CORPUS_TABLES]


def turns(many: list[int]) -> list[dict]:
    """Rows of chats with so many turns each; the ids are not in the order of the rows."""
    return [
        {"chat_id": f"c{(number * 7) % 97:02d}", "turn": turn, "role": "user" if turn % 2 == 0 else "assistant",
         "text": f"What about {number} and {turn}, please?", "rating": float(1 + number % 5) if number % 3 else None}
        for number, turns in enumerate(many) for turn in range(turns)
    ]  # fmt: skip


def write(path: Path, rows: list[dict], size: int = 4) -> Path:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=size)
    return path


def imported(src: Path, out: Path, **options: str) -> tuple[dict[str, pa.Table], object]:
    import_to("chat", src, out, {**SCALE, **options})
    assert not [path for path in out.iterdir() if path.name.startswith(".")]
    return Corpus.open(out).tables, {line.what: line for line in account_of(out)}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(row_groups, "PART", 5)
    monkeypatch.setattr(row_groups, "LARGE", 3)


@given(
    st.lists(st.integers(2, 6), min_size=2, max_size=8),
    st.integers(1, 9),
    st.lists(st.integers(1, 30), max_size=3),
    st.booleans(),
    st.randoms(),
)
def test_parts_of_any_size_are_the_whole(tmp_path_factory, many, size, cuts, shuffled, random):
    folder, rows = tmp_path_factory.mktemp("import"), turns(many)
    if shuffled:
        random.shuffle(rows)
    whole = imported(write(folder / "one" / "data.parquet", rows), folder / "whole")
    ends = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    for number, (start, end) in enumerate(pairwise(ends)):
        write(folder / "data" / f"part-{number}.parquet", rows[start:end], size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_groups, "PART", 5)
        patch.setattr(row_groups, "LARGE", 0)
        tables, account = imported(folder / "data", folder / "parts")
    assert {name: tables[name] for name in NAMES if name != "utterances"} == {
        name: whole[0][name] for name in NAMES if name != "utterances"
    }
    assert tables["utterances"].select(tables["utterances"].schema.names) == whole[0]["utterances"]
    assert {what: line.kept for what, line in account.items() if what != "files"} == {
        what: line.kept for what, line in whole[1].items()
    }


def test_a_chat_in_two_small_parts_is_one_chat(tmp_path):
    rows = turns([4, 4])
    write(tmp_path / "data" / "a.parquet", rows[:6])
    write(tmp_path / "data" / "b.parquet", rows[6:])
    assert Corpus.open(_import(tmp_path)).utterances.num_rows == 8


def _import(tmp_path, src="data", **options):
    import_to("chat", tmp_path / src, tmp_path / "corpus", {**SCALE, **options})
    return tmp_path / "corpus"


def test_rows_of_chats_and_whole_numbers_as_ids(tmp_path, small):
    rows = [
        {"id": number, "messages": json.dumps([{"role": who, "content": "Hello?"} for who in ("user", "assistant")]),
         "score": 1 + number % 5}
        for number in range(12)
    ]  # fmt: skip
    whole = imported(write(tmp_path / "data.parquet", rows, 5), tmp_path / "a")
    row_groups.LARGE = 100
    assert imported(tmp_path / "data.parquet", tmp_path / "b")[0]["ratings"] == whole[0]["ratings"]
    assert sorted(whole[0]["sessions"]["session_id"].to_pylist()) == sorted(map(str, range(12)))


def test_what_has_no_ids_is_read_as_before(tmp_path, small):
    rows = [
        {"messages": [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": "Yes."}]} for n in range(9)
    ]
    write(tmp_path / "data" / "a.parquet", rows)
    assert row_groups.data_set(tmp_path, [tmp_path / "data" / "a.parquet"], {}, None) is None
    real = [{**row, "chat_id": 0.5} for row in turns([2, 2])]
    assert row_groups.data_set(tmp_path, [write(tmp_path / "b.parquet", real)], {}, None) is None


def test_notes_of_many_parts_are_told_once(tmp_path, small):
    rows = turns([3] * 6)
    rows[0], rows[1], rows[12], rows[13] = rows[1], rows[0], rows[13], rows[12]
    write(tmp_path / "data" / "a.parquet", rows)
    report = import_to("chat", tmp_path / "data", tmp_path / "corpus", SCALE)
    told = [note for note in report.notes if note.startswith("rows sorted by 'turn'")]
    assert told == ["rows sorted by 'turn': in 1 chat (c00), and in others"]
    assert sum("read id from" in note for note in report.notes) == 1
    assert sum("scores were read from 'rating'" in note for note in report.notes) == 1


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path, rows: path.write_bytes(path.read_bytes()[:-60]), r"b.parquet: not a readable Parquet file"),
        (lambda path, rows: path.write_bytes(b"PARE" + path.read_bytes()[4:-4] + b"PARE"),
         r"b.parquet: not a readable Parquet file .*[Ee]ncrypted"),
        (lambda path, rows: write(path, [{k: v for k, v in row.items() if k != "text"} for row in rows]),
         r"b.parquet: one of it and a.parquet has no column text"),
        (lambda path, rows: write(path, [{**row, "more": 1} for row in rows]), r"has no column more"),
        (lambda path, rows: write(path, [*rows, {**rows[0], "chat_id": None}]),
         r"b.parquet, row group 1, row 3, column chat_id: empty, so nobody knows whose turn it is"),
    ],
)  # fmt: skip
def test_parts_that_cannot_be_read_are_told(tmp_path, small, spoil, words):
    rows = turns([3, 3, 3, 3])
    write(tmp_path / "data" / "a.parquet", rows[:6])
    spoil(write(tmp_path / "data" / "b.parquet", rows[6:]), rows[6:])
    with pytest.raises(InputError, match=words):
        _import(tmp_path)
    assert not (tmp_path / "corpus").exists()


def test_a_row_group_that_is_too_large_is_told(tmp_path, small, monkeypatch):
    write(tmp_path / "data" / "a.parquet", turns([3, 3]))
    monkeypatch.setattr(row_groups, "MOST_BYTES", 10)
    with pytest.raises(InputError, match=r"a.parquet, row group 0: 0 MiB, more than 0. Write the file with smaller"):
        _import(tmp_path)


def test_a_folder_that_cannot_be_written_is_told(tmp_path, small):
    write(tmp_path / "data" / "a.parquet", turns([3, 3]))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/corpus: the corpus cannot be written \(Not a directory\)"):
        import_to("chat", tmp_path / "data", tmp_path / "file" / "corpus", SCALE)
