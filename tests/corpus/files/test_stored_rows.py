"""A table that stays in its file gives the same rows as one that is held."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus import Corpus
from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import KEPT_SESSIONS
from apportion.corpus.files.tablefile import parts
from apportion.corpus.schema import UTTERANCES
from apportion.corpus.validate import validate
from apportion.foundation.errors import InputError


def corpus_of(turns: list[int], blank: bool = False) -> Corpus:
    """A corpus of sessions with so many turns each."""
    rows = CorpusRows()
    for number, many in enumerate(turns):
        name = f"s{number:03d}"
        rows.session(name, "by hand", language="en")
        rows.rating(name, ("ann", "bob"), "helpful", float(1 + number % 5), (1.0, 5.0))
        for turn in range(many):
            rows.utterance(name, turn, "ann" if turn % 2 else "bob", "" if blank else f"words {turn} of {name}")
    return Corpus.of(".", rows.tables())


def stored(corpus: Corpus, folder: Path, size: int) -> Corpus:
    """The same in a folder, its utterances in row groups of ``size``."""
    table = corpus.utterances
    Corpus.of(".", {**corpus.tables, "utterances": table.slice(0, 0)}).write(folder)
    table = pa.table(dict(zip(table.column_names, table.columns, strict=True)))  # Broken ones have nulls anywhere.
    pq.write_table(table, folder / "utterances.parquet", row_group_size=size)
    return Corpus.open(folder)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=12), st.integers(1, 30), st.booleans())
def test_sessions_by_row_groups_are_sessions_read_whole(tmp_path_factory, turns, size, blank):
    whole = corpus_of(turns, blank)
    read = stored(whole, tmp_path_factory.mktemp("corpus"), size)
    assert read.is_stored == (sum(turns) > size)
    assert list(read.iter_sessions()) == list(whole.iter_sessions())
    assert [hash(one.turns) for one in read.iter_sessions()] == [hash(one.turns) for one in whole.iter_sessions()]
    assert [str(one) for one in validate(read)] == [str(one) for one in validate(whole)]
    assert pa.concat_tables([part for _, part in parts(read.utterances)]) == whole.utterances
    for first, part in parts(read.utterances):
        assert part == whole.utterances.slice(first, part.num_rows)
    again = tmp_path_factory.mktemp("again")
    read.write(again)
    assert pq.read_table(again / "utterances.parquet") == whole.utterances
    read.write(again, "jsonl")
    assert Corpus.open(again).utterances == whole.utterances


@given(st.data())
def test_what_is_wrong_is_told_at_the_same_row(tmp_path_factory, data):
    whole = corpus_of([4, 3, 5, 2])
    rows = whole.utterances.to_pylist()
    for _ in range(data.draw(st.integers(1, 3))):
        row = rows[data.draw(st.integers(0, len(rows) - 1))]
        column, value = data.draw(
            st.sampled_from([("turn", 0), ("text", " "), ("text", None), ("speaker", "environment"), ("start_s", 3.0),
                             ("start_s", float("nan")), ("end_s", 1.0)])
        )  # fmt: skip
        row[column] = value
    broken = Corpus.of(".", {**whole.tables, "utterances": pa.Table.from_pylist(rows, schema=UTTERANCES.arrow)})
    read = stored(broken, tmp_path_factory.mktemp("corpus"), data.draw(st.integers(1, 10)))
    assert read.is_stored
    assert [str(one) for one in validate(read)] == [str(one) for one in validate(broken)]


def test_turns_are_read_again_when_they_are_looked_at(tmp_path):
    whole = corpus_of([2] * (KEPT_SESSIONS + 3))
    read = stored(whole, tmp_path, 50)
    sessions = list(read.iter_sessions())
    for session, other in zip(sessions, whole.iter_sessions(), strict=True):
        assert session.turns == other.turns and session.turns != ()
    info = read.recent_turns.cache_info()
    assert info.currsize == KEPT_SESSIONS and info.misses == len(sessions)
    turns = sessions[0].turns
    assert turns[1] == turns[-1] and turns[:1] == (turns[0],) and len(turns) == 2 and list(turns) == [*turns]
    assert repr(turns) == repr(tuple(turns)) and turns.__reduce__() == (tuple, (tuple(turns),))
    assert read.utterances.column("text") == read.utterances["text"] == whole.utterances["text"]


def test_rows_of_a_session_in_two_places_are_read_whole(tmp_path):
    whole = corpus_of([2, 2])
    rows = whole.utterances.take([0, 2, 1, 3])
    whole.write(tmp_path)
    pq.write_table(rows, tmp_path / "utterances.parquet", row_group_size=2)
    read = Corpus.open(tmp_path)
    assert not read.is_stored and list(read.iter_sessions()) == list(whole.iter_sessions())


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path, table: path.write_bytes(path.read_bytes()[:-200]), r"not a readable Parquet file"),
        (lambda path, table: _flip(path), r"not a readable Parquet file"),
        (lambda path, table: _write(path, table.drop(["text"])), r"no column 'text'"),
        (lambda path, table: _write(path, _with(table, "session_id", ["s000", None, "s001", "s001"])),
         r"utterances.parquet, row 2, column session_id: empty"),
        (lambda path, table: _write(path, _with(table, "turn", ["a", "b", "c", "d"])), r"column turn: holds string"),
        (lambda path, table: _encrypt(path, table), r"not a readable Parquet file"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read_are_told(tmp_path, spoil, words):
    whole = corpus_of([2, 2])
    whole.write(tmp_path)
    path = tmp_path / "utterances.parquet"
    _write(path, whole.utterances)
    spoil(path, whole.utterances)
    with pytest.raises(InputError, match=words):
        Corpus.open(tmp_path).session("s000").turns[0]


def test_a_row_group_that_breaks_later_is_told(tmp_path):
    whole = corpus_of([2, 2])
    read = stored(whole, tmp_path, 2)
    (tmp_path / "utterances.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"not a readable Parquet file .*Row group 0: write the file again"):
        len(read.session("s000").turns)


def _write(path, table, size=2):
    pq.write_table(table, path, row_group_size=size)
    return path


def _with(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def _flip(path):
    content = bytearray(path.read_bytes())
    content[40:60] = b"\xff" * 20
    path.write_bytes(content)


def _encrypt(path, table):
    _write(path, table)
    path.write_bytes(b"PARE" + path.read_bytes()[4:-4] + b"PARE")
